"""What every HTTP front end shares: requests, responses, rate limits, bodies."""
