"""The endpoints of the partner API, one file or folder per word of the specification."""
