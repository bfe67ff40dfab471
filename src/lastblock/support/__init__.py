"""What every other folder may use: errors, checks, files, spelling, threads with a progress bar."""
