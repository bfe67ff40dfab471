"""The dashboard: pages to watch bandits and to change them, served by the same process."""
