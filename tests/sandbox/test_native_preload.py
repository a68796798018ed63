"""Files that grow or fail and simulated mounts, as ordinary programs see them through the preloaded library."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.native import TABLE_VARIABLE, FileEntry, StatvfsEntry, preload, preload_table

OLDER_PYTHONS = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))
GROWING = {"text": "TOTAL {n} of {all} {\n", "n": {"start": 1000, "per_second": 2}}
VALUES = {"f_bsize": 4096, "f_frsize": 4096, "f_blocks": 1000, "f_bfree": {"start": 500, "per_second": 0},
          "f_bavail": 400, "f_files": 90, "f_ffree": 80, "f_favail": 70, "f_flag": 1, "f_namemax": 255}


@pytest.fixture
def start(tmp_path):
    """Start a program on a node whose table holds these entries; the folder is its working directory."""

    def run(entries, *argv, epoch=None):
        table = tmp_path / "table"
        table.write_bytes(preload_table(entries, time.time() - 10 if epoch is None else epoch))
        environment = {**os.environ, "LD_PRELOAD": str(preload()), TABLE_VARIABLE: str(table), "LC_ALL": "C"}
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                                env=environment)

    return run


@pytest.fixture
def output(start):
    def run(entries, *argv):
        done = start(entries, *argv)
        return done.communicate(timeout=30)

    return run


@pytest.fixture
def python(output):
    """What a Python expression evaluates to on the node, or its OSError."""

    def run(entries, expression):
        script = f"import os, errno\ntry: print({expression})\nexcept OSError as e: print(errno.errorcode[e.errno])"
        out, err = output(entries, sys.executable, "-c", script)
        assert "" == err
        return out.strip()

    return run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sys" / "counter"
    path.parent.mkdir()
    path.write_text("on disk\n")
    return path


READERS = [
    ["cat", "sys/counter"], ["sh", "-c", "cat < sys/counter"], ["sh", "-c", "read line < sys/counter; echo $line"],
    ["head", "-n1", "sys/counter"], ["grep", ".", "sys/counter"], ["sed", "", "sys/counter"],
    ["awk", "1", "sys/counter"],
    ["dd", "if=sys/counter", "status=none"], ["bash", "-c", "echo \"$(<sys/counter)\""],
    [sys.executable, "-c", "print(open('sys/counter').read())"],
    [sys.executable, "-c", "import pathlib; print(pathlib.Path('sys/counter').read_text())"],
    *([str(python), "-c", "print(open('sys/counter').read())"] for python in OLDER_PYTHONS),
]


@pytest.mark.parametrize("argv", READERS, ids=lambda argv: " ".join(argv)[-40:])
def test_every_reader_sees_what_has_grown_until_now(output, file, argv):
    out, err = output([FileEntry(file, GROWING)], *argv)
    words = out.split()
    assert ("", ["TOTAL", "of", "{all}", "{"]) == (err, [words[0], *words[2:]])
    assert 1020 <= int(words[1]) < 1080


@pytest.mark.parametrize("argv", READERS, ids=lambda argv: " ".join(argv)[-40:])
def test_every_reader_fails_on_a_file_whose_read_fails(output, file, argv):
    out, err = output([FileEntry(file, errno="EIO")], *argv)
    assert "on disk" not in out
    assert "nput/output error" in err or "I/O error" in err or (out, err) == ("\n", "")  # dash's read is silent


def test_a_bare_growing_number_is_a_line(python, file):
    assert "b'7\\n'" == python([FileEntry(file, {"start": 7, "per_second": 0})], f"open('{file}', 'rb').read()")


def test_a_file_is_found_through_links_and_under_its_own(python, tmp_path, file):
    (tmp_path / "class").symlink_to(file.parent)
    (file.parent / "alias").symlink_to("counter")
    entries = [FileEntry(tmp_path / "class" / "alias", b"\xff\x00simulated")]
    for path in ("sys/counter", "class/counter", "sys/alias", "class/../sys/./alias"):
        assert "b'\\xff\\x00simulated'" == python(entries, f"open('{path}', 'rb').read()")


def test_other_files_of_that_name_and_writers_see_the_disk(python, tmp_path, file):
    (tmp_path / "counter").write_text("another")
    assert "another" == python([FileEntry(file, GROWING)], "open('counter').read()")
    assert "True" == python([FileEntry(file, GROWING)], "open('sys/counter', 'a').write('x') == 1")
    assert "on disk\nx" == file.read_text()


@pytest.mark.parametrize("name", ["EACCES", "EPERM", "ENOENT", 13])
def test_permission_errors_come_from_open(python, file, name):
    expected = "EACCES" if name == 13 else name
    assert expected == python([FileEntry(file, errno=name)], f"os.open('{file}', os.O_RDONLY)")
    assert expected == python([FileEntry(file.parent, errno=name)], f"os.listdir('{file.parent}')")


@pytest.mark.parametrize("name", ["EINVAL", "EIO", "ENODEV", "ESTALE", "ETIMEDOUT"])
def test_other_errors_come_from_read_in_children_too(python, file, name):
    entries = [FileEntry(file, errno=name)]
    assert "True" == python(entries, f"os.open('{file}', os.O_RDONLY) > 2")
    for read in ("read({}, 9)", "pread({}, 9, 0)", "readv({}, [bytearray(9)])", "read(os.dup({}), 9)"):
        assert name == python(entries, f"os.{read.format(f'os.open({str(file)!r}, 0)')}")


def test_a_file_hangs_when_it_is_opened(start, file):
    child = start([FileEntry(file, hang=True)], "sh", "-c", "echo opening; exec cat sys/counter")
    assert "opening\n" == child.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.kill()
    assert ("", "") == child.communicate()


def test_statvfs_tells_the_longest_mount_that_fits(python, tmp_path):
    (tmp_path / "data" / "deep").mkdir(parents=True)
    entries = [StatvfsEntry(tmp_path, {"f_blocks": 1}), StatvfsEntry(tmp_path / "data", VALUES)]
    expected = (4096, 4096, 1000, 500, 400, 90, 80, 70, 1, 255)
    assert str(expected) == python(entries, f"os.statvfs('{tmp_path}/data/deep')[:10]")
    assert "1000" == python(entries, "os.fstatvfs(os.open('data', 0)).f_blocks")
    assert "1" == python(entries, f"os.statvfs('{tmp_path}/data/../table').f_blocks")
    beside = [StatvfsEntry(tmp_path / "dat", VALUES)]
    assert "False" == python(beside, f"os.statvfs('{tmp_path}/data').f_blocks == 1000")


def test_statvfs_keeps_what_the_table_leaves_out(python, tmp_path):
    real = os.statvfs(tmp_path).f_blocks
    assert str(real) == python([StatvfsEntry(tmp_path, {"f_bavail": 0})], "os.statvfs('.').f_blocks")
    absent = [StatvfsEntry(tmp_path / "absent", {"f_files": 9})]
    assert "9" == python(absent, f"os.statvfs('{tmp_path}/absent').f_files")


def test_programs_see_simulated_mounts(output, tmp_path):
    out, _ = output([StatvfsEntry(tmp_path, VALUES)], "stat", "-f", "-c", "%b %f %a %s %c %d", str(tmp_path))
    assert "1000 500 400 4096 90 80\n" == out


def test_statvfs_fails_and_hangs_as_told(python, start, tmp_path):
    assert "ESTALE" == python([StatvfsEntry(tmp_path, errno="ESTALE")], "os.statvfs('.')")
    script = "import os; print('asking', flush=True); os.statvfs('.')"
    child = start([StatvfsEntry(tmp_path, hang=True)], sys.executable, "-c", script)
    assert "asking\n" == child.stdout.readline()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.kill()
    assert ("", "") == child.communicate()


def test_without_a_table_nothing_changes(tmp_path):
    environment = {**os.environ, "LD_PRELOAD": str(preload()), TABLE_VARIABLE: str(tmp_path / "none")}
    out = subprocess.check_output(["sh", "-c", "cat /proc/self/comm; ls -A | wc -l"], env=environment, cwd=tmp_path)
    assert b"cat\n0\n" == out


def test_a_table_cut_short_is_no_crash(tmp_path):
    whole = preload_table([FileEntry(tmp_path / "a", GROWING), StatvfsEntry(tmp_path, VALUES)], 0)
    for length in range(0, len(whole), 7):
        (tmp_path / "table").write_bytes(whole[:length])
        environment = {**os.environ, "LD_PRELOAD": str(preload()), TABLE_VARIABLE: str(tmp_path / "table")}
        subprocess.run([shutil.which("cat"), "/dev/null"], env=environment, check=True)


@pytest.mark.parametrize(("entry", "words"), [
    (FileEntry("/a", errno="EBADD"), ["EBADD", "EBADF"]),
    (FileEntry("/a", {"text": "no name", "n": {"start": 1, "per_second": 1}}), ["growing text"]),
    (FileEntry("/a", {"start": 1, "per_sec": 1}), ["per_second"]),
    (StatvfsEntry("/a", {"blocks": 1}), ["blocks", "f_blocks"]),
    (StatvfsEntry("/a", {"f_blocks": "many"}), ["f_blocks", "'many'"]),
])
def test_an_entry_that_cannot_be_simulated_is_refused_with_what_would_do(entry, words):
    with pytest.raises(SandboxError) as refused:
        preload_table([entry], 0)
    assert [] == [word for word in words if word not in str(refused.value)]
