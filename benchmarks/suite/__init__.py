"""The suite of random problems, which tests policies that claim to need no tuning."""
