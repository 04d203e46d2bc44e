"""What every page of the console uses: routes, requests, forms, templates, answers."""
