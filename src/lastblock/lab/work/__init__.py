"""How a scenario is computed: chunks, their addresses, the runner, the cluster."""
