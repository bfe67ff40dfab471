"""Computing a scenario: chunks of work, their addresses, the runner, the cluster."""
