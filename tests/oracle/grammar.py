"""Dockerfiles generated from a grammar of what people write: stages, copies, venvs, constraints, upgrades, removals, heredocs,
scripts, variables and conditions.

Each seed gives one Dockerfile and its context. Only `random()` of the generator is used, whose values never change.
"""
import random

BASE = "python:3.11-slim-bookworm"
# torch, a torchvision and a torchaudio for it, and CUDA variants.
TORCH = [("2.2.2", "0.17.2", "2.2.2", ("cu118", "cu121", "cpu")), ("2.3.1", "0.18.1", "2.3.1", ("cu118", "cu121", "cpu")),
         ("2.4.1", "0.19.1", "2.4.1", ("cu118", "cu121", "cu124", "cpu")), ("2.5.1", "0.20.1", "2.5.1", ("cu118", "cu121", "cu124", "cpu")),
         ("2.6.0", "0.21.0", "2.6.0", ("cu118", "cu124", "cu126", "cpu")), ("2.7.1", "0.22.1", "2.7.1", ("cu118", "cu126", "cu128", "cpu")),
         ("2.9.1", "0.24.1", "2.9.1", ("cu126", "cu128", "cu130", "cpu"))]
USES_TORCH = ["timm", "accelerate", "torchmetrics", "pytorch-lightning", "peft", "kornia", "sentence-transformers", "ultralytics"]
PLAIN = ["flask", "numpy", "pandas", "transformers", "fastapi", "uvicorn", "requests", "pyyaml", "tqdm", "scipy", "einops", "pillow"]
SYSTEM = ["git", "curl", "wget", "ffmpeg", "libgl1", "build-essential", "cmake", "unzip", "libsndfile1"]
PAGE = "https://download.pytorch.org/whl/"


class Writer:
    """One Dockerfile being written."""

    def __init__(self, seed):
        self.random, self.files, self.number = random.Random(seed), {}, 0
        self.release, self.vision, self.audio, self.variants = self.pick(TORCH)
        self.variant = self.pick(self.variants)
        self.venv = None

    def chance(self, share):
        return self.random.random() < share

    def pick(self, choices):
        return choices[int(self.random.random() * len(choices))]

    def some(self, choices, most):
        """A few different ones, in their order."""
        left = list(choices)
        return [left.pop(int(self.random.random() * len(left))) for _ in range(1 + int(self.random.random() * most)) if left]

    def path(self, ending):
        self.number += 1
        return f"f{self.number}{ending}"

    def torch(self):
        """What is asked for: torch in one of its forms, alone or with its companions."""
        v = self.release
        asked = self.pick([f"torch=={v}"] * 8 + ["torch"] * 3 + [f"torch=={v}+{self.variant}"] * 2 +
                          [f'"torch>={v}"', f'"torch<={v}"', f'"torch~={v}"', f'"torch>=2.1,<{v}"', f"torch=={v[:-2]}.*"])
        others = []
        if self.chance(0.35):
            others.append(self.pick(["torchvision", f"torchvision=={self.vision}"]))
        if self.chance(0.12):
            others.append(self.pick(["torchaudio", f"torchaudio=={self.audio}"]))
        return [asked, *others]

    def index(self, asked):
        """Where it comes from."""
        if "+" in asked[0]:
            return self.pick([f"--index-url {PAGE}{self.variant}", f"--extra-index-url {PAGE}{self.variant}", f"-f {PAGE}torch_stable.html"])
        return self.pick([""] * 5 + [f"--index-url {PAGE}{self.variant}"] * 3 + [f"--extra-index-url {PAGE}{self.variant}", f"-i {PAGE}{self.variant}"])

    def pip(self):
        """The installer as it is called."""
        if self.venv and self.chance(0.6):
            return self.pick([f"{self.venv}/bin/pip", f"{self.venv}/bin/python -m pip"])
        return self.pick(["pip", "pip", "pip", "pip3", "python3 -m pip", "python -m pip"])

    def flags(self):
        return self.pick([""] * 6 + ["--no-cache-dir "] * 3 + ["-q ", "--upgrade ", "-U "])

    def install(self):
        """One command that installs, without RUN."""
        kind = self.random.random()
        if kind < 0.45:
            asked = self.torch()
            index = self.index(asked)
            extra = self.some(PLAIN, 2) if not index.startswith(("--index", "-i")) and self.chance(0.2) else []
            return f"{self.pip()} install {self.flags()}{' '.join([*asked, *extra])} {index}".rstrip()
        if kind < 0.7:
            more = self.pick([""] * 6 + ["--no-deps ", "--upgrade-strategy eager -U ", "--force-reinstall ", "--pre "])
            return f"{self.pip()} install {self.flags()}{more}{' '.join(self.some(USES_TORCH, 2))}"
        if kind < 0.88:
            return f"{self.pip()} install {self.flags()}{' '.join(self.some(PLAIN, 3))}"
        if kind < 0.95:
            return f"{self.pip()} uninstall -y {' '.join(self.some(['torch', 'torchvision', 'flask', 'timm', 'numpy'], 2))}"
        return f"{self.pip()} install torch=={self.release} && {self.pip()} uninstall -y torchvision"

    def listed(self):
        """A list of packages, copied and installed."""
        path, asked = self.path(".txt"), self.torch()
        index = self.index(asked)
        lines = [line for line in [index if index.startswith(("--index", "--extra")) else "", *[a.strip('"') for a in asked]] if line]
        if not index.startswith(("--index", "-i")):
            lines += self.some(PLAIN + USES_TORCH, 3)
        if self.chance(0.3):
            lines.insert(0, "# what we need")
        if self.chance(0.2):
            lines.append(self.pick(['torch==2.0.1 ; python_version < "3.9"', 'flask ; sys_platform == "win32"', 'pandas>=2 ; python_version >= "3.8"']))
        rest = index if index.startswith("-f") or index.startswith("-i") else ""
        self.files[path] = "\n".join(lines) + "\n"
        change = self.pick([""] * 8 + [f"sed -i '/torchvision/d' /{path} && ", f"sed -i 's/torch=={self.release}/torch==2.5.1/' /{path} && "])
        if self.chance(0.15):
            return [f"RUN --mount=type=bind,source={path},target=/{path} {self.pip()} install {self.flags()}-r /{path} {rest}".rstrip()]
        return [f"COPY {path} /{path}", f"RUN {change}{self.pip()} install {self.flags()}-r /{path} {rest}".rstrip()]

    def constrained(self):
        path = self.path(".txt")
        self.files[path] = f"torch=={self.release}\n" + (f"torchvision=={self.vision}\n" if self.chance(0.5) else "")
        if self.chance(0.3):
            return [f"COPY {path} /etc/{path}", f"ENV PIP_CONSTRAINT=/etc/{path}", f"RUN {self.install()}"]
        return [f"COPY {path} /tmp/", f"RUN {self.pip()} install -c /tmp/{path} {' '.join(self.some(USES_TORCH + ['torch'], 2))}"]

    def script(self):
        path = self.path(".sh")
        head = self.pick(["#!/bin/bash\nset -e\n", "#!/bin/sh\nset -eux\n", "#!/usr/bin/env bash\nset -euo pipefail\n", "#!/bin/sh\n"])
        body = [self.install() for _ in range(1 + self.chance(0.4))]
        if self.chance(0.3):
            body = [f'V="${{1:-{self.release}}}"', 'pip install "torch==$V"']
        self.files[path] = head + "\n".join(body) + "\n"
        call = self.pick([f"bash /opt/{path}", f"sh /opt/{path}" if "pipefail" not in head else f"bash /opt/{path}", f"chmod +x /opt/{path} && /opt/{path}"])
        return [f"COPY {path} /opt/{path}", f"RUN {call}"]

    def heredoc(self):
        word = self.pick(["EOF", "EOT"])
        body = [self.install() for _ in range(1 + self.chance(0.5))]
        if self.chance(0.25):
            path = f"/tmp/{self.path('.txt')}"
            return [f"COPY <<{word} {path}", *[a.strip('"') for a in self.torch()[:1]], *self.some(PLAIN, 2), word, f"RUN {self.pip()} install -r {path}"]
        if self.chance(0.3):
            return [f"RUN bash <<'{word}'", "set -e", *body, word]
        return [f"RUN <<{word}", self.pick(["set -e", "set -ex", "export PIP_NO_CACHE_DIR=1"]), *body, word]

    def condition(self):
        one, other = self.install(), self.install()
        name = self.pick(["GPU", "WITH_TORCH", "DEV"])
        value = self.pick(["1", "0", "true", ""])
        form = self.pick(["if", "if", "else", "and", "arch", "case", "file"])
        if form == "if":
            return [f"ARG {name}={value}", f'RUN if [ "${name}" = "1" ]; then {one}; fi']
        if form == "else":
            return [f"ARG {name}={value}", f'RUN if [ -n "${{{name}}}" ]; then {one}; else {other}; fi']
        if form == "and":
            return [f"ARG {name}={value}", f'RUN [ "${name}" = "1" ] && {one} || {other}']
        if form == "arch":
            return [f'RUN if [ "$(uname -m)" = "x86_64" ]; then {one}; else {other}; fi']
        if form == "case":
            return [f"ARG CUDA={self.variant}", f'RUN case "$CUDA" in cu118) {one} ;; cu12*) {other} ;; *) echo none ;; esac']
        return [f"RUN if [ {self.pick(['-f /etc/debian_version', '! -d /opt/none', '-e /nothing'])} ]; then {one}; fi"]

    def variables(self):
        form = self.pick(["arg", "env", "page", "mixed", "shell"])
        if form == "arg":
            return [f"ARG TORCH_VERSION={self.release}", f"RUN {self.pip()} install torch==${{TORCH_VERSION}}"]
        if form == "env":
            return [f"ENV TORCH={self.release} CU={self.variant}", f"RUN {self.pip()} install torch==$TORCH --index-url {PAGE}$CU"]
        if form == "page":
            return [f"ARG INDEX={PAGE}{self.variant}", f"RUN {self.pip()} install torch=={self.release} --index-url $INDEX"]
        if form == "mixed":
            return [f"ARG V={self.release}", "ENV V=${V}", f"RUN {self.pip()} install torch==${{V:-2.1.0}} && echo $V"]
        return [f'RUN V={self.release} && {self.pip()} install "torch==$V" --index-url {PAGE}{self.variant}']

    def settings(self):
        return [self.pick(["ENV PIP_NO_CACHE_DIR=1", "ENV DEBIAN_FRONTEND=noninteractive PYTHONUNBUFFERED=1", "ENV NVIDIA_VISIBLE_DEVICES=all",
                           "ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility", "ENV LD_LIBRARY_PATH=/opt/lib:$LD_LIBRARY_PATH",
                           f"ENV PIP_EXTRA_INDEX_URL={PAGE}{self.variant}", 'ENV A="b c" D=${A:-x}', "WORKDIR /app", "LABEL a=b", "USER root",
                           "RUN echo /opt/lib > /etc/ld.so.conf.d/opt.conf && ldconfig", f"RUN pip config set global.extra-index-url {PAGE}{self.variant}",
                           "RUN rm -rf /root/.cache", "RUN pip install --upgrade pip"])]

    def system(self):
        packages = self.some(SYSTEM, 3)
        if self.chance(0.15):
            return [f"RUN apt-get update && apt-get install -y {' '.join(packages)} && apt-get remove -y {packages[0]}"]
        return [f"RUN apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)} && rm -rf /var/lib/apt/lists/*"]

    def run(self):
        commands = [self.install() for _ in range(1 + self.chance(0.35))]
        return ["RUN " + self.pick([" && ", " && \\\n    ", "; "]).join(commands)]

    def make_venv(self):
        self.venv = self.pick(["/opt/venv", "/venv"])
        more = self.pick([""] * 5 + ["--system-site-packages "])
        form = self.pick(["path", "path", "activate", "plain"])
        if form == "path":
            return [f"RUN python3 -m venv {more}{self.venv}", f'ENV PATH="{self.venv}/bin:$PATH"']
        if form == "activate":
            return [f"RUN python3 -m venv {more}{self.venv} && . {self.venv}/bin/activate && {self.install()}"]
        return [f"RUN python3 -m venv {more}{self.venv}", f"RUN {self.venv}/bin/pip install {' '.join(self.torch()[:1])}"]

    def steps(self, most):
        out = []
        for _ in range(1 + int(self.random.random() * most)):
            kind = self.random.random()
            for share, step in ((0.3, self.run), (0.42, self.listed), (0.48, self.constrained), (0.56, self.script), (0.64, self.heredoc),
                                (0.73, self.condition), (0.82, self.variables), (0.93, self.settings), (1, self.system)):
                if kind < share:
                    out += step()
                    break
        return out

    def last(self):
        out = []
        if self.chance(0.25):
            out.append(self.pick(['ENTRYPOINT ["python3"]', 'ENTRYPOINT ["/app/start.sh"]', "ENTRYPOINT python3 -m app", "ENTRYPOINT []"]))
        if self.chance(0.4):
            python = f"{self.venv}/bin/python" if self.venv and self.chance(0.4) else "python3"
            out.append(self.pick([f'CMD ["{python}", "app.py"]', f"CMD {python} app.py", 'CMD ["bash"]']))
        return out

    def file(self):
        """The whole Dockerfile."""
        form = self.random.random()
        if form < 0.6:
            venv = self.make_venv() if self.chance(0.2) else []
            return [f"FROM {BASE}", *venv, *self.steps(4), *self.last()]
        if form < 0.7:
            lines = [f"FROM {BASE} AS base", *self.steps(2), f"FROM base AS {self.pick(['final', 'prod'])}", *self.steps(2), *self.last()]
            return lines + ([f"FROM {BASE} AS unused", *self.steps(1), "FROM final"] if "final" in lines[-2] and self.chance(0.2) else [])
        if form < 0.82:
            first = [f"FROM {BASE} AS build", *self.make_venv(), *self.steps(2)]
            venv, self.venv = self.venv, None
            second = [f"FROM {BASE}", f"COPY --from=build {venv} {venv}", *([f"ENV PATH={venv}/bin:$PATH"] if self.chance(0.8) else [])]
            return [*first, *second, *(self.steps(1) if self.chance(0.4) else []), *self.last()]
        if form < 0.9:
            site = "/usr/local/lib/python3.11/site-packages"
            return [f"FROM {BASE} AS build", *self.steps(3), f"FROM {BASE}", *(self.steps(1) if self.chance(0.3) else []),
                    f"COPY --from=build {site} {site}", *self.last()]
        if form < 0.95:
            how, folder, to = self.pick([("--prefix=/install", "/install", "/usr/local"), ("--user", "/root/.local", "/root/.local"),
                                         ("--target=/deps", "/deps", "/usr/local/lib/python3.11/site-packages")])
            asked = self.torch()
            return [f"FROM {BASE} AS build", f"RUN pip install {how} {' '.join(asked)} {self.index(asked)}".rstrip(), f"FROM {BASE}",
                    *(self.steps(1) if self.chance(0.3) else []), f"COPY --from=build {folder} {to}", *self.last()]
        asked = self.torch()
        return [f"FROM {BASE} AS build", f"RUN pip wheel --wheel-dir /wheels {' '.join(asked)} {self.index(asked)}".rstrip(), f"FROM {BASE}",
                "COPY --from=build /wheels /wheels", f"RUN pip install {self.pick(['/wheels/*.whl', '--no-index --find-links /wheels torch'])}",
                *(self.steps(1) if self.chance(0.4) else []), *self.last()]


def case(seed):
    """The files of one case: the Dockerfile and its context."""
    writer = Writer(seed)
    return {"Dockerfile": "\n".join(writer.file()) + "\n", **writer.files}
