"""Files of compiled code that several processes may write at the same time.

Numba numbers the files of a function, and an index says which one is for which types. Two processes
that save at the same time take the same number: then the index names a file that holds the code for
other types. It also forgets what another process has entered since it was read. Here there is no
index: the name of a file follows from the types, and the file holds them, too.
"""

import functools
import hashlib
from contextlib import suppress
from typing import Any


def keep_apart(dispatcher: Any) -> Any:
    """Let a dispatcher with a cache name its files by the types they are for; return it."""
    dispatcher._cache._cache_file.__class__ = _files_class()
    return dispatcher


@functools.cache
def _files_class() -> type[Any]:
    from numba.core.caching import IndexDataCacheFile  # noqa: PLC0415  # slow to import

    base: Any = IndexDataCacheFile

    class Files(base):  # type: ignore[misc]  # numba has no types
        """Numba's files of one function."""

        def save(self, key: Any, data: Any) -> None:
            """Save the code for a key, in place of what there was."""
            self._save_data(self._name(key), (key, data))

        def load(self, key: Any) -> Any:
            """Return the code for a key, or None."""
            with suppress(Exception):  # there is no file, or it is damaged
                kept, data = self._load_data(self._name(key))
                if kept == key:  # types may differ that are spelt alike
                    return data
            return None

        def _name(self, key: Any) -> str:
            spelt = f"{self._version} {self._source_stamp} {key}"
            digest = hashlib.blake2b(spelt.encode(), digest_size=10).hexdigest()
            return str(self._data_name_pattern.replace("{number:d}", digest))

    return Files
