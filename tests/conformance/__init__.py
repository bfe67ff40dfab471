"""What every policy must do, whoever wrote it."""
