"""Compiles the C programs of a sandbox on first use, into a private cache. Controller side."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.nvml_surface import SOURCES

# Fortified headers replace open() and read() by inline functions, which the preloaded library has to define itself.
FLAGS = ("-O1", "-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-U_FORTIFY_SOURCE")
SHARED = ("-shared", "-fPIC")
COMPILE_SECONDS = 120


def build(name: str, source: str, flags: tuple[str, ...] = (), libraries: tuple[str, ...] = ()) -> Path:
    """The compiled program, from the cache where it was compiled before. Several processes may come here at once."""
    headers = [path.read_text() for path in sorted(SOURCES.glob("*.[ch]"))]
    digest = hashlib.blake2b(digest_size=12)
    for part in (source, *headers, *FLAGS, *flags, *libraries, platform.machine()):
        digest.update(part.encode() + b"\0")
    target = cache_directory() / f"{digest.hexdigest()}-{name}"
    if not target.exists():
        _compile(target, source, flags, libraries)
    return target


def cache_directory() -> Path:
    """$XDG_CACHE_HOME/fleetcheck, ours alone: what lies there is loaded into the processes of simulated nodes."""
    directory = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fleetcheck"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError as error:
        raise SandboxError(f"cannot keep compiled programs in {directory}: {error}; set XDG_CACHE_HOME") from error
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise SandboxError(f"{directory} must belong to this user and be writable by nobody else; set XDG_CACHE_HOME")
    return directory


def place(built: Path, target: Path) -> None:
    """Put a compiled program into a node's folder under another name: a hard link, or a copy on another file system."""
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(built)
    except OSError:
        shutil.copy2(built, target)


def _compile(target: Path, source: str, flags: tuple[str, ...], libraries: tuple[str, ...]) -> None:
    compiler = shutil.which("gcc")
    if not compiler:
        raise SandboxError("gcc is not on PATH, and the sandbox compiles its NVML with it: apt install gcc libc6-dev")
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    os.close(handle)
    try:
        _run([compiler, *FLAGS, *flags, "-I", str(SOURCES), "-x", "c", "-", "-o", temporary, *libraries], source)
        Path(temporary).chmod(0o755)
        Path(temporary).rename(target)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _run(argv: list[str], source: str) -> None:
    done = subprocess.run(argv, input=source, capture_output=True, text=True, timeout=COMPILE_SECONDS, check=False)
    if done.returncode:
        raise SandboxError(f"gcc failed on the sandbox's programs (is libc6-dev installed?): {done.stderr[-2000:]}")
