"""What a policy is made of: the protocol, the record, its rounds, the structures for rewards."""

import lastblock.core.method_binding  # noqa: F401  # lets compiled code call the methods of policies
