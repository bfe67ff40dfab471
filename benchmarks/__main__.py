from benchmarks import core

core.main()
