from benchmarks import core, field, table1

core.main()
field.main()
print()
table1.main()
