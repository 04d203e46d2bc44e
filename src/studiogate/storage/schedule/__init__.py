"""The schedule: reads for partners, and what the flows of the studio's side read and write."""
