"""Several processes: fronts that speak HTTP, one owner that decides, a supervisor of them all."""
