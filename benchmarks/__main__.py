from benchmarks import core, field, live, table1

core.main()
live.main()
field.main()
print()
table1.main()
