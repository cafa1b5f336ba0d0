"""Try the musl wheel in a CPython that zig builds against musl, as in Alpine: ``make test-musl``.

Debian has musl and the source of CPython; both come by apt from the mirror that this machine uses already. The loader
of musl is put where programs look for it, so this needs the rights of root, and a machine that may be changed. Prints
the versions, whether counts are those of the wheel for glibc, and what the demo and the tests of the counters say.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "target" / "musl"
RELEASE, SOURCE = "trixie", "python3.13"
"""Numpy's wheels want musl 1.2.4 or later: Debian 13 has it."""

PROCESSOR = platform.machine()
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
TESTS = ("unit/counting/test_counter_parts.py", "unit/counting/test_truncate.py", "behaviour/test_json.py")
NEEDED = ("numpy", "pytest", "hypothesis", "regex", "tiktoken")

COUNTS = """
    import hashlib, sys
    from pathlib import Path
    from trimtab import Counter
    texts = [line for path in sorted(Path(sys.argv[1]).rglob("*.*"))
             if path.suffix in {".rs", ".py", ".md", ".jsonl", ".tsv"}
             for line in path.read_text("utf-8").splitlines()]
    for name in ("o200k_base", "cl100k_base", "claude-old", "claude-new"):
        counts = Counter(name).count_many(texts)
        digest = hashlib.sha256(repr([int(n) for n in counts]).encode()).hexdigest()
        print(f"{name}: {sum(counts):,} tokens in {len(texts):,} lines, {digest[:16]}")
"""


def run(*command: object, cwd: Path = HERE, **changed: str) -> str:
    """Run a command; return what it printed.

    Raises:
        SystemExit: it failed; its last lines are printed.
    """
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=os.environ | changed, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print("\n".join((done.stdout + done.stderr).splitlines()[-30:]), file=sys.stderr)
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return done.stdout


def debian() -> None:
    """Fetch musl and the sources, and put musl's loader in its place."""
    site = run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages").split()
    listed = HERE / "sources.list"
    lines = (f"{kind} [signed-by={KEYRING}] {site[0]} {RELEASE} main" for kind in ("deb", "deb-src"))
    listed.write_text("\n".join(lines) + "\n")
    lists = HERE / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    apt = ("apt-get", "-qq", "-o", f"Dir::Etc::SourceList={listed}", "-o", "Dir::Etc::SourceParts=-")
    apt = (*apt, "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root")
    run(*apt, "update")
    run(*apt, "download", "musl")
    run(*apt, "source", "--download-only", "--tar-only", SOURCE, "zlib", "sqlite3")
    run("dpkg", "-x", *HERE.glob("musl_*.deb"), "unpacked")
    (library,) = HERE.glob("unpacked/**/libc.so")
    shutil.copy(library, f"/lib/ld-musl-{PROCESSOR}.so.1")
    for name in (SOURCE, "zlib", "sqlite3"):
        (archive,) = (path for path in HERE.glob(f"{name}_*.orig.tar.*") if path.suffix != ".asc")
        (HERE / name).mkdir(exist_ok=True)
        run("tar", "-xf", archive, "-C", name, "--strip-components=1")


def interpreter() -> Path:
    """Build CPython, with zlib and SQLite in it; return the interpreter."""
    prefix, zig = HERE / "root", f"{sys.executable} -m ziglang"
    compiler, target = HERE / "cc", f"{PROCESSOR}-linux-musl"
    compiler.write_text(
        f'#!/bin/sh\n[ "$1" = --print-multiarch ] && exec echo {target}\n'
        # CPython knows musl by a name in its own stdarg.h; zig has clang's
        'case "$*" in *platform_triplet.c*) set -- -D__DEFINED_va_list "$@" ;; esac\n'
        f'exec {zig} cc -target {target} -dynamic -Wno-date-time -Wno-error=date-time "$@"\n'
    )
    compiler.chmod(0o755)
    tools = {"CC": str(compiler), "AR": f"{zig} ar", "RANLIB": f"{zig} ranlib", "CFLAGS": "-O1 -fPIC"}
    cores = f"-j{os.cpu_count()}"
    run("./configure", "--static", f"--prefix={prefix}", cwd=HERE / "zlib", **tools)
    run("make", cores, "install", cwd=HERE / "zlib", **tools)
    run("./configure", "--disable-tcl", cwd=HERE / "sqlite3")
    run("make", "sqlite3.c", "sqlite3.h", cwd=HERE / "sqlite3")
    run(compiler, "-O1", "-fPIC", "-DSQLITE_ENABLE_FTS5", "-c", "sqlite3.c", "-o", "sqlite3.o", cwd=HERE / "sqlite3")
    run(sys.executable, "-m", "ziglang", "ar", "rcs", prefix / "lib" / "libsqlite3.a", HERE / "sqlite3" / "sqlite3.o")
    shutil.copy(HERE / "sqlite3" / "sqlite3.h", prefix / "include")
    paths = {"CPPFLAGS": f"-I{prefix}/include", "LDFLAGS": f"-L{prefix}/lib", "OPT": "-O1 -DNDEBUG"}
    paths["PKG_CONFIG_LIBDIR"] = f"{prefix}/lib/pkgconfig"  # no library of glibc's
    options = ("--without-ensurepip", "--disable-ipv6", "--disable-test-modules", f"--prefix={prefix}")
    run("./configure", *options, cwd=HERE / SOURCE, **(tools | paths))
    run("make", cores, cwd=HERE / SOURCE)
    run("make", "install", cwd=HERE / SOURCE)
    return prefix / "bin" / "python3"


def packages(python: Path, wheel: Path) -> Path:
    """Return a folder with the wheel and what the tests need, for that interpreter."""
    folder = HERE / "site"
    version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    platforms = [f"--platform=musllinux_1_{minor}_{PROCESSOR}" for minor in (2, 1)]
    abis = [f"--abi={abi}" for abi in (f"cp{version.replace('.', '')}", "abi3", "none")]
    install = (sys.executable, "-m", "pip", "install", "-q", "--only-binary=:all:", "--target", folder, "--upgrade")
    locked = (ROOT / "requirements" / "dev.txt").read_text()
    pinned = [re.search(rf"^{name}==[^\s;]+", locked, re.MULTILINE)[0] for name in NEEDED]
    run(*install, "--python-version", version, "--implementation", "cp", *platforms, *abis, *pinned, wheel)
    return folder


def main() -> int:
    """Build what is not there yet, and try the wheel; return 1 where it counts otherwise than the one for glibc."""
    wheels = list((ROOT / "dist").glob(f"trimtab-*-musllinux_*_{PROCESSOR}.whl"))
    if len(wheels) != 1:
        raise SystemExit(f'no wheel: make wheels ARGS="--only {PROCESSOR}-musllinux_1_2"')
    HERE.mkdir(parents=True, exist_ok=True)
    python = HERE / "root" / "bin" / "python3"
    if not python.exists():
        debian()
        python = interpreter()
    site = packages(python, wheels[0])
    print(run(python, "-c", "import sys, sysconfig; print(sys.version, sysconfig.get_config_var('SOABI'))"), end="")
    print(wheels[0].name)
    script = HERE / "counts.py"
    script.write_text(textwrap.dedent(COUNTS))
    ours = ROOT / ".venv" / "bin" / "python"
    here, there = run(ours, script, ROOT / "tests"), run(python, script, ROOT / "tests", PYTHONPATH=str(site))
    print(there, end="")
    same = here == there
    print("the counts are", "those" if same else "NOT those", "of the wheel for glibc")
    print(run(python, "-m", "trimtab", "--version", PYTHONPATH=str(site)), end="")
    demo = run(python, "-m", "trimtab", "demo", PYTHONPATH=str(site))
    print("demo:", demo.strip().splitlines()[0])
    tests = [ROOT / "tests" / name for name in TESTS]
    said = run(python, "-m", "pytest", "-p", "no:cacheprovider", *tests, cwd=ROOT, PYTHONPATH=f"{site}:tests")
    print(next(line for line in said.splitlines() if " passed" in line))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
