"""Builds images with buildah, without an engine and without a network, and reads what is in them."""
import base64, contextlib, json, os, pathlib, re, shutil, subprocess, threading

from index import PORT

BASES = ["python:3.11-slim-bookworm", "python:3.11-slim", "python:3.11", "python:3.11-bookworm"]
UV = ["ghcr.io/astral-sh/uv:latest", "ghcr.io/astral-sh/uv:0.13.9"]
PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
# Debian's Python, moved to where the official image of Python has it: /usr/local, with site-packages.
PREPARE = r"""set -e
lib=/usr/local/lib/python3.11
mkdir -p $lib && cp -a /usr/lib/python3.11/. $lib/ && rm -rf $lib/dist-packages && mkdir -p $lib/site-packages
rm -f $lib/EXTERNALLY-MANAGED
sed -i "s/prefix_scheme = 'posix_local'/prefix_scheme = 'posix_prefix'/" $lib/sysconfig.py
# The compiled-in `site` of Debian searches dist-packages.
ln -s site-packages $lib/dist-packages
rm -f $lib/sitecustomize.py
cp -a /usr/bin/python3.11 /usr/local/bin/ && ln -s python3.11 /usr/local/bin/python3 && ln -s python3 /usr/local/bin/python
dpkg --purge --force-depends $(dpkg-query -W -f '${Package}\n' | grep -E '^(lib)?python3' | grep -v -- -whl) >/dev/null 2>&1
hash -r
rm -f /usr/share/python-wheels/pip-*.whl /usr/share/python-wheels/setuptools-*.whl
cp /wheels/pip-*.whl /wheels/setuptools-*.whl /usr/share/python-wheels/
PYTHONPATH=$(echo /wheels/pip-*.whl) /usr/local/bin/python3 -m pip install --quiet --no-index --root-user-action ignore /wheels/pip-*.whl /wheels/setuptools-*.whl /wheels/wheel-*.whl
# Modules are compiled when they are first used: a venv takes 2 s instead of 8.
sed -i 's/args = \["install", "--no-cache-dir",/args = ["install", "--no-compile", "--no-cache-dir",/' $lib/ensurepip/__init__.py
# ensurepip starts pip from compiled modules, not from its wheel.
mkdir /usr/share/python-wheels/unpacked && cp -a $lib/site-packages/pip /usr/share/python-wheels/unpacked/
sed -i 's#sys.path = {additional_paths or \[\]} + sys.path#sys.path = ["/usr/share/python-wheels/unpacked"] + sys.path#' $lib/ensurepip/__init__.py
echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/oracle
rm -rf /wheels /usr/share/doc /usr/share/man /usr/share/locale /usr/share/info /var/lib/apt/lists/* /var/cache/apt/*.bin
/usr/local/bin/python3 -m compileall -q --invalidation-mode unchecked-hash $lib /usr/share/python-wheels/unpacked >/dev/null || true
mkdir -p /usr/share/man/man1 /etc/uv
cat >>/etc/ssl/certs/ca-certificates.crt </etc/ssl/oracle.pem
printf '[global]\nindex-url = http://127.0.0.1:PORT/simple/\ncert = /etc/ssl/oracle.pem\n[install]\nno-compile = true\n' >/etc/pip.conf
printf 'native-tls = true\n[[index]]\nurl = "http://127.0.0.1:PORT/simple/"\ndefault = true\n' >/etc/uv/uv.toml
rm -f /etc/apt/sources.list.d/* && echo 'deb [trusted=yes] http://127.0.0.1:PORT/debian ./' >/etc/apt/sources.list
""".replace("PORT", str(PORT))
READ = r"""
import json, sys, importlib.metadata as m
seen = {}
for d in m.distributions():
    name = d.metadata['Name']
    folder = str(d.locate_file('')).rstrip('/')
    if name:
        one = seen.setdefault(name, {'versions': [], 'folder': folder, 'requires': d.requires or []})
        # After a COPY of another site-packages there may be metadata of two.
        one['versions'] += [d.version] if folder == one['folder'] else []
torch = cuda = None
try:
    import torch.version as v
    torch, cuda = v.__version__, v.cuda or 'cpu'
except ImportError: pass
print(json.dumps({'python': sys.executable, 'prefix': sys.prefix, 'packages': seen, 'torch': torch, 'cuda': cuda}))
"""


class BuildFailed(Exception):
    """The build or its inspection ended with an error."""


class Builder:
    """One buildah store, with the base images."""

    def __init__(self, state):
        self.state = pathlib.Path(state)
        self.built, self.lock = [], threading.Lock()
        # The system packages and the distributions of the base.
        self.base = None

    def buildah(self, *args, timeout=180, check=True):
        command = ["buildah", "--root", self.state / "store", "--runroot", self.state / "run", "--storage-driver", "overlay", *args]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, errors="replace")
        except subprocess.TimeoutExpired:
            raise BuildFailed("timed out")
        if check and done.returncode:
            raise BuildFailed((done.stdout + done.stderr)[-1500:])
        return done.stdout

    def prepare(self):
        """Makes the base image once: minutes with an empty state."""
        if not (self.state / "wheels").exists():
            part = self.state / "wheels.part"
            subprocess.run(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", part, "pip==24.0", "setuptools==65.5.1",
                            "wheel==0.45.1"], check=True)
            # Without uv the cases that use it fail to build, and are counted so.
            subprocess.run(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", part, "uv"])
            part.rename(self.state / "wheels")
        base = self.state / "base.tar"
        if not base.exists():
            part = self.state / "base.part.tar"
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3-pip,python3-venv,ca-certificates", "bookworm", part], check=True)
            part.rename(base)
        # pip and uv are the real ones, in the index too.
        for name in ("pip", "uv"):
            page = self.state / "index/simple" / name
            wheel = next((self.state / "wheels").glob(f"{name}-*.whl"), None)
            if wheel and not page.exists():
                page.mkdir()
                shutil.copy(wheel, self.state / "index/files")
                (page / "index.html").write_text(f'<a href="/files/{wheel.name}">{wheel.name}</a>')
        stamp = self.state / "base.made"
        recipe = PREPARE + "".join(BASES + UV) + (self.state / "ca.pem").read_text()
        if not stamp.exists() or stamp.read_text() != recipe:
            self.make_base(base)
            stamp.write_text(recipe)
        with self.mounted(BASES[0], self.state / "read") as root:
            found = distributions(root / "usr/local/lib/python3.11/site-packages")
            self.base = {"system": system_packages(root), "packages": found}

    def make_base(self, base):
        """Makes the base image and the image with uv."""
        context = self.state / "base"
        shutil.rmtree(context, ignore_errors=True)
        context.mkdir()
        os.link(base, context / "base.tar")
        (context / "prepare").write_text(PREPARE)
        shutil.copy(self.state / "ca.pem", context / "oracle.pem")
        shutil.copytree(self.state / "wheels", context / "wheels")
        (context / "Dockerfile").write_text(
            "FROM scratch\nADD base.tar /\nCOPY oracle.pem /etc/ssl/oracle.pem\nCOPY wheels /wheels\nCOPY prepare /prepare\n"
            f"ENV PATH={PATH} LANG=C.UTF-8 PYTHON_VERSION=3.11.2\nRUN sh /prepare && rm /prepare\nCMD [\"python3\"]\n")
        # Squashed, so that each build has one layer below its own.
        self.buildah("bud", "--isolation", "chroot", "--squash", "--layers=false", "--tag", BASES[0], context, timeout=600)
        for name in BASES[1:]:
            self.buildah("tag", BASES[0], name)
        uv = next((self.state / "wheels").glob("uv-*.whl"), None)
        if uv:
            subprocess.run(["python3", "-m", "zipfile", "-e", uv, context / "uv"], check=True)
            program = next((context / "uv").glob("*.data/scripts/uv"))
            program.chmod(0o755)
            shutil.move(program, context / "uv-program")
            (context / "Dockerfile").write_text("FROM scratch\nCOPY uv-program /uv\n")
            self.buildah("bud", "--layers=false", "--tag", UV[0], context)
            self.buildah("tag", UV[0], UV[1])
        shutil.rmtree(context)

    def build(self, folder, scratch, arguments=(), paths=()):
        """Builds `folder/Dockerfile` and reads the image, with the text of the files `paths`."""
        text = pathlib.Path(folder, "Dockerfile").read_text()
        dockerfile = scratch / "Dockerfile.oracle"
        dockerfile.write_text(with_stage_names(without_heredocs(text), arguments))
        image_file = scratch / "image"
        image_file.unlink(missing_ok=True)
        self.buildah("bud", "--isolation", "chroot", "--format", "docker", "--layers=false", "--pull-never", "--add-host", "download.pytorch.org:127.0.0.1",
                     "--iidfile", image_file, *arguments, "--file", dockerfile, folder)
        image = image_file.read_text().strip().removeprefix("sha256:")
        store = self.state / "store"
        config = json.loads((store / "overlay-images" / image / ("=" + packed(f"sha256:{image}"))).read_text())["config"]
        try:
            with self.mounted(image, scratch) as root:
                return read_image(root, config, paths, self.base)
        finally:
            self.built.append(image)
            if len(self.built) >= 24:
                self.clean()

    @contextlib.contextmanager
    def mounted(self, image, scratch):
        """Mounts the layers of an image below `scratch`, without a container: four calls of buildah less."""
        store = self.state / "store"
        images = json.loads((store / "overlay-images/images.json").read_text())
        layer = next(i["layer"] for i in images if i["id"] == image or f"localhost/{image}" in i.get("names", []))
        parents = {l["id"]: l.get("parent") for l in json.loads((store / "overlay-layers/layers.json").read_text())}
        lower = []
        while layer:
            lower.append(str(store / "overlay" / layer / "diff"))
            layer = parents[layer]
        root, empty = scratch / "root", scratch / "empty"
        for folder in (root, empty):
            folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", f"ro,lowerdir={':'.join([*lower, str(empty)])}", root], check=True)
        try:
            yield root
        finally:
            subprocess.run(["umount", "--lazy", root], check=True)

    def clean(self):
        """Removes the images that were read."""
        with self.lock:
            images, self.built[:] = self.built[:], []
        if images:
            self.buildah("rmi", "--force", *images, check=False)


def without_heredocs(text):
    """The same build for a buildah that has no heredocs: each RUN evaluates its text, each COPY decodes it."""
    out, lines = [], text.split("\n")
    while lines:
        line = lines.pop(0)
        found = re.match(r"(RUN|COPY)\s+((?:--\S+\s+)*)(.*?)<<-?(['\"]?)(\w+)\4(.*)$", line)
        if not found:
            out.append(line)
            continue
        kind, flags, before, quote, word, after = found.groups()
        body = []
        while lines and lines[0].lstrip("\t") != word:
            body.append(lines.pop(0))
        if lines:
            lines.pop(0)
        body = "\n".join(body) + "\n"
        if kind == "COPY":
            out.append(f"RUN mkdir -p $(dirname {after.strip()}) && echo {packed(body)} | base64 -d >{after.strip()}")
        elif before.strip() or after.strip():
            out.append(f'RUN {flags}eval "$(echo {packed(f"{before}<<{quote}{word}{quote}{after}{chr(10)}{body}{word}{chr(10)}")} | base64 -d)"')
        elif body.startswith("#!"):
            out.append(f"RUN {flags}echo {packed(body)} | base64 -d >/tmp/heredoc && chmod +x /tmp/heredoc && /tmp/heredoc && rm /tmp/heredoc")
        else:
            out.append(f'RUN {flags}eval "$(echo {packed(body)} | base64 -d)"')
    return "\n".join(out)


def with_stage_names(text, arguments):
    """FROM with the values of the arguments before it: buildah 1.28 does not find a stage that an argument names."""
    given = dict(a.split("=", 1) for a in arguments if "=" in a)
    stages = set(re.findall(r"^FROM .* [Aa][Ss] (\S+)", text, re.M))
    values, out, before = {}, [], True
    for line in text.split("\n"):
        if line.startswith("FROM "):
            before = False
            name = re.sub(r"\$\{(\w+)\}|\$(\w+)", lambda m: values.get(m[1] or m[2], m[0]), line.split()[1])
            if name in stages:
                line = " ".join(["FROM", name, *line.split()[2:]])
        elif before and (found := re.match(r'ARG (\w+)=("?)([\w.-]*)\2$', line)):
            values[found[1]] = given.get(found[1], found[3])
        out.append(line)
    return "\n".join(out)


def packed(text):
    return base64.b64encode(text.encode()).decode()


def normal(name):
    """The normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(folder):
    """The distributions whose metadata is in a folder, with their versions."""
    found = {}
    for info in folder.glob("*.dist-info/METADATA"):
        name, _, version = info.parent.name.removesuffix(".dist-info").partition("-")
        found[normal(name)] = version
    return found


def system_packages(root):
    status = root / "var/lib/dpkg/status"
    text = status.read_text(errors="replace") if status.is_file() else ""
    return sorted(m[1] for m in re.finditer(r"^Package: (\S+)\nStatus: \S+ ok installed", text, re.M))


def read_image(root, config, paths, base):
    """What is in an image: configuration, distributions of each environment, system packages and files of interest."""
    env = dict(v.split("=", 1) for v in config.get("Env", []))
    real = {"env": env, "entrypoint": config.get("Entrypoint"), "command": config.get("Cmd"), "folders": {}, "torches": {}, "files": {}, "libcuda": []}
    environments = []
    for folder, folders, files in os.walk(root):
        short = "/" + os.path.relpath(folder, root) if folder != str(root) else "/"
        # uv keeps unpacked wheels in its cache.
        if short in ("/proc", "/sys", "/dev", "/usr/share", "/var/lib/apt", "/root/.cache"):
            folders[:] = []
            continue
        if any(name.endswith(".dist-info") for name in folders):
            real["folders"][short] = distributions(pathlib.Path(folder))
        for name in folders:
            if name == "torch" and os.path.isfile(version_file := os.path.join(folder, name, "version.py")):
                values = {}
                exec(pathlib.Path(version_file).read_text(), values)
                real["torches"][short] = (values["__version__"], values["cuda"] or "cpu")
        for name in files:
            if name == "pyvenv.cfg":
                environments.append(short)
            elif name.startswith(("libcuda.so", "libnvidia-ml.so")):
                real["libcuda"].append(os.path.join(short, name))
    real["system"] = system_packages(root)
    real["base"] = {"system": sorted(set(base["system"]) & set(real["system"])), "packages": base["packages"]}
    conf = root / "etc/ld.so.conf.d"
    real["ld_conf"] = {f.name: [l.strip() for l in f.read_text(errors="replace").splitlines() if l.strip() and not l.startswith("#")]
                       for f in sorted(conf.iterdir())} if conf.is_dir() else {}
    for path in paths:
        inside = root / path.lstrip("/")
        real["files"][path] = inside.read_text(errors="replace") if inside.is_file() else None
    started = (config.get("Entrypoint") or []) + (config.get("Cmd") or [])
    program = next((w for w in started if re.search(r"/python[\d.]*$", w)), "$(command -v python3 || command -v python)")
    real["main"] = read_python(root, config, env, program)
    # Each environment once: that of the base, those of a `pyvenv.cfg`, and that of the program if it is another one.
    found = {p: read_python(root, config, env, f"{p}/bin/python3") or read_folders(p, real["folders"]) for p in ("/usr/local", *environments)}
    if real["main"]:
        found.setdefault(real["main"]["prefix"], real["main"])
    real["pythons"] = {p: {"apart": p in environments and not shares_base(root / p.lstrip("/")), "packages": f["packages"],
                           "main": bool(real["main"]) and p == real["main"]["prefix"]} for p, f in found.items()}
    return real


def read_python(root, config, env, program):
    """What a Python of the image finds, as the user and in the environment of the image; nothing if it does not start."""
    user = config.get("User") or ""
    done = subprocess.run(["chroot", *([f"--userspec={user}"] if user else []), root, "/usr/bin/env", "-i", *[f"{k}={v}" for k, v in env.items()],
                           "/bin/sh", "-c", f'{program} -c "$1"', "sh", READ], capture_output=True, text=True, timeout=60)
    found = json.loads(done.stdout) if done.returncode == 0 else None
    if found:
        found["packages"] = {normal(n): p for n, p in found["packages"].items()}
    return found


def read_folders(prefix, folders):
    """The distributions below a prefix whose Python does not start."""
    inside = {f: found for f, found in folders.items() if f.startswith(f"{prefix}/lib/")}
    return {"packages": {n: {"versions": [v], "folder": f, "requires": []} for f, found in inside.items() for n, v in found.items()}}


def shares_base(prefix):
    """Whether an environment sees the packages of the base, too."""
    return re.search(r"^include-system-site-packages\s*=\s*true", (prefix / "pyvenv.cfg").read_text(), re.M | re.I) is not None
