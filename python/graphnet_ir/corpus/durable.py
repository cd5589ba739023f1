"""Files that outlive a power cut. Lance itself syncs nothing."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets


def write_file(path: str, data: bytes) -> None:
    """Writes a file, whole or not at all, over what was there."""
    aside = f"{path}.{secrets.token_hex(8)}.new"  # Another machine may write it, too.
    try:
        with open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        if os.path.exists(aside):
            os.unlink(aside)
        raise
    sync(os.path.dirname(os.path.abspath(path)))


def sync(path: str) -> None:
    """Syncs a file or the names in a folder."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_file_system(path: str) -> None:
    """Syncs all of the file system that has a path, in one go."""
    file = os.open(path, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).syncfs(file) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
    finally:
        os.close(file)


class SyncedFolder:
    """A folder whose files, once they are whole, never change.

    settle() syncs each file and each folder that has come since the last call. The first call syncs
    all, since another process may have written files and died, and one call for the file system
    takes less time than one for each file.
    """

    def __init__(self, path: str):
        self._path = path
        self._synced: set[str] | None = None  # files and folders

    def settle(self) -> None:
        seen, changed = set(), []
        for folder, _, names in os.walk(self._path):
            paths = {os.path.join(folder, name) for name in names}
            seen |= {folder, *paths}
            if self._synced is not None:
                new = sorted(paths - self._synced)
                for path in new:
                    with contextlib.suppress(FileNotFoundError):  # Another writer renamed it.
                        sync(path)
                if new or folder not in self._synced:
                    changed.append(folder)
        if self._synced is None:
            sync_file_system(self._path)
        # The names come after the content, and those of inner folders first.
        for folder in reversed(changed):
            with contextlib.suppress(FileNotFoundError):
                sync(folder)
        self._synced = seen
