from benchmarks import core, field, live, store, table1

core.main()
live.main()
store.main()
field.main()
print()
table1.main()
