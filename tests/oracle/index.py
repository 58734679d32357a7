"""A package index of generated wheels and system packages, served on 127.0.0.1.

Names, versions, builds and requirements of torch and its companions are those of imagelint's own tables, so that the
program and the index see the same world. Other distributions are listed in `PLAIN`. Each wheel has a few bytes.
"""
import hashlib, io, pathlib, re, shutil, ssl, subprocess, tarfile, threading, tomllib, zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

PORT = 8765
# Distributions without builds for CUDA: versions, then what they require.
PLAIN = """
filelock 3.13.1 3.20.0; typing-extensions 4.9.0 4.12.2 4.15.0; sympy 1.12 1.13.3 1.14.0; networkx 3.2.1 3.5; fsspec 2024.6.1 2025.10.0
jinja2 3.1.4 3.1.6 : markupsafe; markupsafe 2.1.5 3.0.3; mpmath 1.3.0; setuptools 65.5.1 69.5.1 77.0.3 80.9.0; wheel 0.43.0 0.45.1
numpy 1.23.5 1.24.4 1.26.4 2.1.3 2.3.5; pillow 10.4.0 11.3.0 12.0.0; scipy 1.11.4 1.14.1 1.16.3 : numpy; pandas 2.0.3 2.2.3 2.3.3 : numpy
scikit-learn 1.3.2 1.7.2 : numpy scipy; matplotlib 3.8.4 3.10.7 : numpy pillow; opencv-python 4.8.1.78 4.10.0.84 4.12.0.88 : numpy
opencv-python-headless 4.8.1.78 4.12.0.88 : numpy; tqdm 4.66.5 4.67.1; pyyaml 6.0.1 6.0.2 6.0.3; requests 2.31.0 2.32.5 : urllib3
urllib3 1.26.20 2.5.0; certifi 2024.8.30 2025.10.5; packaging 23.2 24.2 25.0; psutil 5.9.8 7.1.3; regex 2025.9.18; click 8.1.7 8.3.0
flask 2.3.3 3.0.3 3.1.2 : werkzeug jinja2 click; werkzeug 2.3.8 3.0.4 3.1.3; gunicorn 21.2.0 23.0.0 : packaging; six 1.16.0 1.17.0
fastapi 0.110.3 0.115.6 0.121.0 : pydantic starlette; starlette 0.37.2 0.49.1; pydantic 1.10.18 2.9.2 2.12.4 : typing-extensions
uvicorn 0.29.0 0.38.0 : click; huggingface-hub 0.23.5 0.26.5 0.36.0 : filelock
tokenizers 0.19.1 0.22.1 : huggingface-hub; safetensors 0.4.5 0.6.2; sentencepiece 0.2.0 0.2.1; protobuf 3.20.3 4.25.5 6.33.0
transformers 4.36.2 4.44.2 4.57.1 : huggingface-hub numpy tokenizers
datasets 2.21.0 4.4.1 : numpy pandas requests tqdm; diffusers 0.30.3 0.35.2 : huggingface-hub numpy pillow; gradio 4.44.1 5.49.1 : numpy
jupyterlab 4.2.5 4.4.10; notebook 7.2.2 7.4.7; ipython 8.27.0; tensorboard 2.17.1 2.20.0 : numpy protobuf; wandb 0.18.7 0.22.3 : click
einops 0.8.0 0.8.1; ninja 1.11.1.1 1.13.0; cmake 3.30.3 4.1.2; pybind11 2.13.6 3.0.1; cython 0.29.37 3.2.0; hydra-core 1.3.2
omegaconf 2.3.0; librosa 0.10.2 0.11.0 : numpy scipy; soundfile 0.12.1 0.13.1 : numpy; boto3 1.35.36 1.40.70; onnx 1.16.2 1.19.1 : numpy protobuf
onnxruntime 1.19.2 1.23.2 : numpy; streamlit 1.39.0 1.51.0 : numpy pandas; pycocotools 2.0.8 2.0.10 : numpy; pytest 8.3.3 9.0.0
uvloop 0.21.0 0.22.1; scikit-image 0.24.0 0.25.2 : numpy scipy pillow; sympy-extras 0.1 : sympy; poetry-core 1.9.1; hf-transfer 0.1.8 0.1.9
virtualenv 20.26.6 : filelock; nvidia-ml-py 12.560.30 13.580.82; pynvml 11.5.3 12.0.0 : nvidia-ml-py; cuda-bindings 13.0.3 13.1.0
cuda-toolkit 13.2.2; nvidia-cudnn-cu13 9.26.0.51; nvidia-cusparselt-cu13 0.8.1; nvidia-nccl-cu13 2.30.7; nvidia-nvshmem-cu13 3.7.2
nvidia-cuda-runtime-cu11 11.8.89; nvidia-cudnn-cu11 8.7.0.84; nvidia-cuda-runtime-cu12 12.1.105 12.8.90; nvidia-cudnn-cu12 9.1.0.70
nvidia-cuda-runtime 13.2.2; ftfy 6.3.1; mlflow 2.17.2 3.6.0 : flask numpy; ray 2.38.0 2.51.1 : click filelock; yacs 0.1.8 : pyyaml
addict 2.4.0; future 1.0.0; termcolor 2.5.0; tabulate 0.9.0; h5py 3.12.1 : numpy; imageio 2.36.0 : numpy pillow; numba 0.60.0 0.62.1 : numpy
loguru 0.7.2; rich 13.9.4; typer 0.12.5 : click; aiohttp 3.10.10; httpx 0.27.2; redis 5.2.0; supervisor 4.2.5; lxml 5.3.0; nltk 3.9.1
shapely 2.0.6 : numpy; trimesh 4.5.3 : numpy; gdown 5.2.0 : requests; ffmpeg-python 0.2.0 : future; av 13.1.0; decord 0.6.0 : numpy
openmim 0.3.9 : click; torchserve 0.12.0 : packaging psutil; torch-model-archiver 0.12.0; torch-workflow-archiver 0.2.15; keras 3.11.3 : numpy
sacrebleu 2.4.3; jupyter 1.1.1 : notebook; sounddevice 0.5.1; openai 1.109.1 : httpx pydantic; phonemizer 3.3.0; pyarrow 21.0.0; joblib 1.4.2
onnxruntime-gpu 1.18.0 1.23.2 : numpy; devpi-server 6.15.0; gekko 1.3.0; xgboost 1.7.6 3.1.1 : numpy scipy; lightgbm 4.6.0 : numpy scipy
"""
# Distributions that require torch and are no entry of the tables with a version of their own: version and requirements.
WITH_TORCH = {
    "accelerate": ("1.15.0", ["numpy", "huggingface-hub"]),
    "timm": ("1.0.22", ["pyyaml"]),
    "peft": ("0.21.2", ["numpy", "transformers", "accelerate"]),
    "lightning": ("2.6.6", ["numpy", "torchmetrics", "pytorch-lightning"]),
    "pytorch-lightning": ("2.6.6", ["tqdm", "torchmetrics"]),
    "torchmetrics": ("1.8.2", ["numpy"]),
    "sentence-transformers": ("6.2.0", ["transformers"]),
    "ultralytics": ("8.3.228", ["numpy", "opencv-python", "torchvision>=0.9.0"]),
    "open-clip-torch": ("3.2.0", ["ftfy", "timm"]),
    "kornia": ("0.9.0", ["packaging"]),
    "bitsandbytes": ("0.50.2", ["numpy"]),
    "stable-baselines3": ("2.9.2", ["numpy", "pandas"]),
    "openai-whisper": ("20250625", ["numpy", "tqdm"]),
    "trl": ("0.25.1", ["accelerate", "datasets", "transformers"]),
    "facenet-pytorch": ("2.6.0", ["numpy", "requests"]),
}
# System packages: a name and a version each; none has dependencies.
DEBS = """git curl wget vim nano htop tmux build-essential gcc g++ make cmake ninja-build ffmpeg libgl1 libgl1-mesa-glx libglib2.0-dev
libsm6 libxext6 libxrender1 libxrender-dev libsndfile1 libsndfile1-dev rsync jq unzip zip sudo openssh-server openssh-client libopenblas-dev
libjpeg-dev libpng-dev pkg-config libaio-dev libopenmpi-dev gnupg gnupg2 software-properties-common locales less procps lsof net-tools
iputils-ping espeak-ng sox libsox-dev git-lfs ccache libboost-all-dev libeigen3-dev tini dumb-init supervisor nginx apt-transport-https
libgomp1 libnuma-dev libhdf5-dev libturbojpeg0 graphviz libgoogle-perftools4 libtcmalloc-minimal4 aria2 bzip2 file gosu pciutils numactl
libsentencepiece-dev mesa-utils libgtk2.0-dev libusb-1.0-0 screen tree parallel protobuf-compiler xvfb zlib1g-dev libssl-dev""".split()


def normal(name):
    """The normalized name of a distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def on_cuda_pages(name):
    """Whether the pages of download.pytorch.org list it too: what torch and torchvision require."""
    return name.startswith(("nvidia-", "cuda-")) or name in (
        "filelock", "typing-extensions", "sympy", "networkx", "fsspec", "jinja2", "markupsafe", "mpmath", "setuptools", "numpy", "pillow",
        "requests", "urllib3", "certifi", "packaging", "tqdm")


def release(version):
    """A version as a tuple of its numbers, without its local part."""
    return tuple(int(n) for n in re.findall(r"\d+", re.split(r"[+a-z]", version)[0]))


def cuda_of(variant):
    """`12.1` for `cu121`; nothing for `cpu`."""
    return f"{variant[2:-1]}.{variant[-1]}" if variant.startswith("cu") else None


class Index:
    """The folder of the index and what makes it."""

    def __init__(self, folder, knowledge):
        self.folder, self.knowledge = pathlib.Path(folder), pathlib.Path(knowledge)

    def rows(self, table):
        return tomllib.loads((self.knowledge / f"{table}.toml").read_text())["row"]

    def make(self):
        """Writes all wheels, pages and system packages, unless they lie there from the same sources."""
        tables = [self.knowledge / f"{t}.toml" for t in ("torch_releases", "requires_dist")]
        mark = hashlib.sha256(b"".join(f.read_bytes() for f in [pathlib.Path(__file__), *tables])).hexdigest()
        stamp = self.folder / "made"
        if stamp.exists() and stamp.read_text() == mark:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self.pages = {}
        self.torch()
        self.companions()
        for text in re.split(r"[;\n]", PLAIN):
            if text.strip():
                head, _, requires = text.partition(":")
                name, *versions = head.split()
                for version in versions:
                    self.wheel(name, version, requires.split(), where=("simple", *(self.cuda_pages if on_cuda_pages(name) else ())))
        self.write_pages()
        self.debs()
        stamp.write_text(mark)

    def wheel(self, name, version, requires=(), files=(), where=("simple",), yanked=False):
        """One wheel, listed on the pages `where`."""
        module = normal(name).replace("-", "_")
        info, file = f"{module}-{version}.dist-info", f"{module}-{version}-py3-none-any.whl"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires)
        parts = [(f"{module}/__init__.py", f"__version__ = {version!r}\n"), *files, (f"{info}/METADATA", metadata),
                 (f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: oracle\nRoot-Is-Purelib: true\nTag: py3-none-any\n")]
        parts.append((f"{info}/RECORD", "".join(f"{path},,\n" for path, _ in parts) + f"{info}/RECORD,,\n"))
        store = self.folder / "files"
        store.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(store / file, "w") as archive:
            for path, text in parts:
                archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), text)
        (store / f"{file}.metadata").write_text(metadata)
        for page in where:
            self.pages.setdefault((page, normal(name)), []).append((file, yanked))

    def write_pages(self):
        for (page, name), files in self.pages.items():
            folder = self.folder / page / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "index.html").write_text("<!DOCTYPE html><html><body>\n" + "".join(
                f'<a href="/files/{file}" data-dist-info-metadata="true"{" data-yanked=broken" if yanked else ""}>{file}</a><br>\n'
                for file, yanked in files) + "</body></html>\n")
        # The pages of links: one for all, one for each CUDA.
        for folder, pages in [("whl", ("whl/",)), *[(f"whl/{v}", (f"whl/{v}",)) for v in ("cu117", "cu118", "cu121", "cpu")]]:
            links = sorted({file for (page, name), files in self.pages.items() if page.startswith(pages) and name.startswith("torch") for file, _ in files})
            (self.folder / folder / "torch_stable.html").write_text("".join(f'<a href="/files/{f}">{f}</a><br>\n' for f in links))

    def torch(self):
        """Each torch with a wheel for Python 3.11: the default one, one for each CUDA, and one without CUDA."""
        self.builds = {}
        for row in self.rows("torch_releases"):
            if release(row["version"]) >= (1, 13):
                self.builds[row["version"]] = (row["default_variant"]["amd64"], [*row["variants"], "cpu"])
        self.newest = max(self.builds, key=release)
        self.cuda_pages = sorted({f"whl/{v}" for _, all_ in self.builds.values() for v in all_} | {"whl/nightly/cu130", "whl/nightly/cpu", "whl"})
        for version, (default, variants) in self.builds.items():
            self.one_torch(version, default, ("simple",))
            for variant in variants:
                self.one_torch(f"{version}+{variant}", variant, (f"whl/{variant}", "whl"))
        major, minor, patch = release(self.newest)
        default = self.builds[self.newest][0]
        self.one_torch(f"{major}.{minor}.{patch + 1}", default, ("simple",), yanked=True)
        # The default index has never had a release candidate of torch; it has some of packages that require torch.
        self.one_torch(f"{major}.{minor + 1}.0rc1", default, ("whl/test",))
        self.wheel("accelerate", "99.0.0rc1", ["torch>=2.0.0", "numpy"])
        for variant in ("cu130", "cpu"):
            self.one_torch(f"{major}.{minor + 1}.0.dev20261101+{variant}", variant, (f"whl/nightly/{variant}",))
        for number in ("2.1.0", "3.0.0", "3.5.1", "3.9.0"):
            self.wheel("triton", number, where=("simple", *self.cuda_pages))

    def one_torch(self, version, variant, where, yanked=False):
        cuda = cuda_of(variant)
        requires = ["filelock", "typing-extensions>=4.8.0"]
        if cuda:
            runtime = {"11": "nvidia-cuda-runtime-cu11", "12": "nvidia-cuda-runtime-cu12"}.get(cuda[:2], "nvidia-cuda-runtime")
            requires += ["triton" + ("~=3.9.0" if release(version) >= (2, 15) else ""), runtime]
        if release(version) >= (2, 15):
            requires += ["setuptools>=77.0.3"]
        text = f"__version__ = {version!r}\ncuda = {cuda!r}\n"
        self.wheel("torch", version, requires, [("torch/version.py", text)], where, yanked)

    def companions(self):
        """What requires torch: each release with a row of its own, and the newest of the others."""
        brings = {}
        for row in self.rows("requires_dist"):
            if row["package"] in ("torchvision", "torchaudio") and row["version"] == "*" and "extra" not in row:
                brings.setdefault(row["distribution"], []).append(row["package"])
        for row in (row for row in self.rows("requires_dist") if row["package"] == "torch" and "extra" not in row):
            name, version = row["distribution"], row["version"]
            if name in ("torchvision", "torchaudio", "xformers") and version != "*":
                self.companion(name, version, "" if row.get("unasked") else row["range"], row["range"])
            elif name == "vllm" and version != "*" and release(version) >= (0, 6):
                self.wheel(name, version, [f"torch{row['range']}", "transformers", "numpy"])
            elif name in WITH_TORCH and version == "*":
                number, others = WITH_TORCH[name]
                extra = [b for b in brings.get(name, []) if not any(o.startswith(b) for o in others)]
                self.wheel(name, number, [f"torch{row['range']}", *extra, *others])
                for older, asks in row.get("older", {}).items():
                    self.wheel(name, older, [f"torch{asks}", *extra, *others])
        for name, older in (("timm", "0.9.16"), ("ultralytics", "8.2.103")):
            self.wheel(name, older, ["torch>=1.7", "torchvision", *WITH_TORCH[name][1]])

    def companion(self, name, version, asks, built):
        wanted = release(built)
        match = [v for v in self.builds if release(v) == wanted] if "==" in built else [v for v in self.builds if release(v) >= wanted][-1:]
        if not match:
            return
        requires = [*([f"torch{asks}"] if asks else []), *({"torchvision": ["numpy", "pillow"], "xformers": ["numpy"]}.get(name, []))]
        self.wheel(name, version, requires)
        for variant in self.builds[match[0]][1]:
            local = version if name == "xformers" else f"{version}+{variant}"
            self.wheel(name, local, requires, where=(f"whl/{variant}", "whl"))

    def debs(self):
        """A flat repository of system packages of one file each."""
        folder = self.folder / "debian"
        folder.mkdir(parents=True)
        entries = []
        for name in DEBS:
            control = f"Package: {name}\nVersion: 99.0\nArchitecture: all\nMaintainer: oracle <oracle@example.com>\nDescription: generated\n"
            deb = member("debian-binary", b"2.0\n") + member("control.tar.gz", tar({"./control": control})) + \
                member("data.tar.gz", tar({f"./usr/share/oracle-{name}": name}))
            deb = b"!<arch>\n" + deb
            (folder / f"{name}.deb").write_bytes(deb)
            entries.append(f"{control}Filename: ./{name}.deb\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n")
        (folder / "Packages").write_text("\n".join(entries))

    def requirements(self):
        """The distributions that any version of each distribution requires."""
        found = {}
        for file in (self.folder / "files").glob("*.metadata"):
            text = file.read_text()
            names = {normal(n) for n in re.findall(r"^Requires-Dist: ([\w.-]+)", text, re.M)}
            found.setdefault(normal(re.search(r"^Name: (.+)$", text, re.M)[1]), set()).update(names)
        return found

    def serve(self, state):
        """Serves the index: the default one over HTTP, and `download.pytorch.org` over TLS with a key of its own."""
        key, cert, ca = state / "tls.key", state / "tls.pem", state / "ca.pem"
        if not ca.exists():
            def openssl(*arguments):
                subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=state)
            extension = state / "tls.ext"
            extension.write_text("subjectAltName=DNS:download.pytorch.org\nbasicConstraints=CA:FALSE\n")
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", "/CN=oracle", "-keyout", "ca.key", "-out", "ca.part")
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=download.pytorch.org", "-keyout", key, "-out", "tls.csr")
            openssl("x509", "-req", "-in", "tls.csr", "-CA", "ca.part", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3650", "-extfile", extension, "-out", cert)
            (state / "ca.part").rename(ca)
        root = str(self.folder)

        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def __init__(self, *args):
                super().__init__(*args, directory=root)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *args):
                pass

        for port in (PORT, 443):
            server = Server(("127.0.0.1", port), Handler)
            server.daemon_threads = True
            if port == 443:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(cert, key)
                server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            threading.Thread(target=server.serve_forever, daemon=True).start()


def tar(files):
    """A packed tar of texts."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(text.encode()), 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def member(name, data):
    """One member of an `ar` archive."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode() + data + (b"\n" if len(data) % 2 else b"")
