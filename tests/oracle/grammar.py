"""Dockerfiles generated from a grammar of what people write: stages, copies, venvs, constraints, upgrades, removals, heredocs,
scripts, variables and conditions, with pip, or with uv and pip.

Each seed gives one Dockerfile and its context. Three seeds of seven have uv, the others only pip. Only `random()` of the
generator is used, whose values never change.
"""
import random, re

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
SITE = "/usr/local/lib/python3.11/site-packages"


def replaces_default(index):
    """Whether the options of an index leave out the default one."""
    return "--index-url" in index.split() or "--default-index" in index.split() or index.startswith("-i ")


class Writer:
    """One Dockerfile being written."""

    # The options of an index that a list may contain.
    in_list = r"--(extra-)?index-url \S+"

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

    def stage(self, name=""):
        """The start of a stage on the base."""
        return [f"FROM {BASE}" + (f" AS {name}" if name else "")]

    def installer(self):
        """Chooses the program of the next commands, where there are two."""

    def plain_pip(self):
        """The installer in its most common form."""
        return "pip install"

    def pip(self, what="install"):
        """The installer as it is called."""
        what = {"uninstall": "uninstall -y"}.get(what, what)
        if self.venv and self.chance(0.6):
            return f"{self.pick([f'{self.venv}/bin/pip', f'{self.venv}/bin/python -m pip'])} {what}"
        return f"{self.pick(['pip', 'pip', 'pip', 'pip3', 'python3 -m pip', 'python -m pip'])} {what}"

    def flags(self):
        return self.pick([""] * 6 + ["--no-cache-dir "] * 3 + ["-q ", "--upgrade ", "-U "])

    def more_flags(self):
        """Options that change what is installed."""
        return self.pick([""] * 6 + ["--no-deps ", "--upgrade-strategy eager -U ", "--force-reinstall ", "--pre "])

    def install(self):
        """One command that installs, without RUN."""
        self.installer()
        kind = self.random.random()
        if kind < 0.45:
            asked = self.torch()
            index = self.index(asked)
            extra = self.some(PLAIN, 2) if not replaces_default(index) and self.chance(0.2) else []
            return f"{self.pip()} {self.flags()}{' '.join([*asked, *extra])} {index}".rstrip()
        if kind < 0.7:
            more = self.more_flags()
            return f"{self.pip()} {self.flags()}{more}{' '.join(self.some(USES_TORCH, 2))}"
        if kind < 0.88:
            return f"{self.pip()} {self.flags()}{' '.join(self.some(PLAIN, 3))}"
        if kind < 0.95:
            return f"{self.pip('uninstall')} {' '.join(self.some(['torch', 'torchvision', 'flask', 'timm', 'numpy'], 2))}"
        return f"{self.pip()} torch=={self.release} && {self.pip('uninstall')} torchvision"

    def listed(self):
        """A list of packages, copied and installed."""
        self.installer()
        path, asked = self.path(".txt"), self.torch()
        index = self.index(asked)
        inside = re.fullmatch(self.in_list, index)
        lines = [line for line in [index if inside else "", *[a.strip('"') for a in asked]] if line]
        if not replaces_default(index):
            lines += self.some(PLAIN + USES_TORCH, 3)
        if self.chance(0.3):
            lines.insert(0, "# what we need")
        if self.chance(0.2):
            lines.append(self.pick(['torch==2.0.1 ; python_version < "3.9"', 'flask ; sys_platform == "win32"', 'pandas>=2 ; python_version >= "3.8"']))
        rest = "" if inside else index
        self.files[path] = "\n".join(lines) + "\n"
        change = self.pick([""] * 8 + [f"sed -i '/torchvision/d' /{path} && ", f"sed -i 's/torch=={self.release}/torch==2.5.1/' /{path} && "])
        if self.chance(0.15):
            return [f"RUN --mount=type=bind,source={path},target=/{path} {self.pip()} {self.flags()}-r /{path} {rest}".rstrip()]
        return [f"COPY {path} /{path}", f"RUN {change}{self.pip()} {self.flags()}-r /{path} {rest}".rstrip()]

    def constrained(self):
        self.installer()
        path = self.path(".txt")
        self.files[path] = f"torch=={self.release}\n" + (f"torchvision=={self.vision}\n" if self.chance(0.5) else "")
        if self.chance(0.3):
            return [f"COPY {path} /etc/{path}", f"ENV PIP_CONSTRAINT=/etc/{path}", f"RUN {self.install()}"]
        return [f"COPY {path} /tmp/", f"RUN {self.pip()} -c /tmp/{path} {' '.join(self.some(USES_TORCH + ['torch'], 2))}"]

    def script(self):
        path = self.path(".sh")
        head = self.pick(["#!/bin/bash\nset -e\n", "#!/bin/sh\nset -eux\n", "#!/usr/bin/env bash\nset -euo pipefail\n", "#!/bin/sh\n"])
        body = [self.install() for _ in range(1 + self.chance(0.4))]
        if self.chance(0.3):
            self.installer()
            body = [f'V="${{1:-{self.release}}}"', f'{self.plain_pip()} "torch==$V"']
        self.files[path] = head + "\n".join(body) + "\n"
        call = self.pick([f"bash /opt/{path}", f"sh /opt/{path}" if "pipefail" not in head else f"bash /opt/{path}", f"chmod +x /opt/{path} && /opt/{path}"])
        return [f"COPY {path} /opt/{path}", f"RUN {call}"]

    def heredoc(self):
        word = self.pick(["EOF", "EOT"])
        body = [self.install() for _ in range(1 + self.chance(0.5))]
        if self.chance(0.25):
            path = f"/tmp/{self.path('.txt')}"
            return [f"COPY <<{word} {path}", *[a.strip('"') for a in self.torch()[:1]], *self.some(PLAIN, 2), word, f"RUN {self.pip()} -r {path}"]
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
        self.installer()
        form = self.pick(["arg", "env", "page", "mixed", "shell"])
        if form == "arg":
            return [f"ARG TORCH_VERSION={self.release}", f"RUN {self.pip()} torch==${{TORCH_VERSION}}"]
        if form == "env":
            return [f"ENV TORCH={self.release} CU={self.variant}", f"RUN {self.pip()} torch==$TORCH --index-url {PAGE}$CU"]
        if form == "page":
            return [f"ARG INDEX={PAGE}{self.variant}", f"RUN {self.pip()} torch=={self.release} --index-url $INDEX"]
        if form == "mixed":
            return [f"ARG V={self.release}", "ENV V=${V}", f"RUN {self.pip()} torch==${{V:-2.1.0}} && echo $V"]
        return [f'RUN V={self.release} && {self.pip()} "torch==$V" --index-url {PAGE}{self.variant}']

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

    def folders(self):
        """Where a stage installs what another one copies: the option, the folder, and its place in the image."""
        return [("--prefix=/install", "/install", "/usr/local"), ("--user", "/root/.local", "/root/.local"), ("--target=/deps", "/deps", SITE)]

    def file(self):
        """The whole Dockerfile."""
        form = self.random.random()
        if form < 0.6:
            start = self.stage()
            venv = self.make_venv() if self.chance(0.2) else []
            return [*start, *venv, *self.steps(4), *self.last()]
        if form < 0.7:
            lines = [*self.stage("base"), *self.steps(2), f"FROM base AS {self.pick(['final', 'prod'])}", *self.steps(2), *self.last()]
            return lines + ([*self.stage("unused"), *self.steps(1), "FROM final"] if "final" in lines[-2] and self.chance(0.2) else [])
        if form < 0.82:
            first = [*self.stage("build"), *self.make_venv(), *self.steps(2)]
            venv, self.venv = self.venv, None
            second = [*self.stage(), f"COPY --from=build {venv} {venv}", *([f"ENV PATH={venv}/bin:$PATH"] if self.chance(0.8) else [])]
            return [*first, *second, *(self.steps(1) if self.chance(0.4) else []), *self.last()]
        if form < 0.9:
            return [*self.stage("build"), *self.steps(3), *self.stage(), *(self.steps(1) if self.chance(0.3) else []),
                    f"COPY --from=build {SITE} {SITE}", *self.last()]
        if form < 0.95:
            start = self.stage("build")
            how, folder, to = self.pick(self.folders())
            asked = self.torch()
            return [*start, f"RUN {self.plain_pip()} {how} {' '.join(asked)} {self.index(asked)}".rstrip(), *self.stage(),
                    *(self.steps(1) if self.chance(0.3) else []), f"COPY --from=build {folder} {to}", *self.last()]
        asked = self.torch()
        return [f"FROM {BASE} AS build", f"RUN pip wheel --wheel-dir /wheels {' '.join(asked)} {self.index(asked)}".rstrip(), *self.stage(),
                "COPY --from=build /wheels /wheels", f"RUN {self.plain_pip()} {self.pick(['/wheels/*.whl', '--no-index --find-links /wheels torch'])}",
                *(self.steps(1) if self.chance(0.4) else []), *self.last()]


class UvWriter(Writer):
    """A Dockerfile whose stages have uv, next to pip."""

    # uv prefers the default index of the base's settings to one of a list: README.md.
    in_list = r"--extra-index-url \S+"

    def __init__(self, seed):
        super().__init__(seed)
        # Whether the stage has uv, whether the next command is one of uv, and the environment that uv finds without an option.
        self.has_uv, self.by_uv, self.found = False, False, None
        # Whether the venv has pip.
        self.seeded = True

    def stage(self, name=""):
        self.has_uv, self.by_uv, self.found = self.chance(0.9), False, None
        out = super().stage(name)
        if self.has_uv:
            image = "COPY --from=ghcr.io/astral-sh/uv:latest /uv"
            out.append(self.pick([f"{image} /bin/", f"{image} /bin/", f"{image} /usr/local/bin/uv", "COPY --from=ghcr.io/astral-sh/uv:0.13.9 /uv /bin/uv",
                                  "RUN pip install uv", "RUN pip install --no-cache-dir uv", "RUN python3 -m pip install -q uv"]))
            if self.chance(0.3):
                out.append("ENV UV_SYSTEM_PYTHON=1")
                self.found = "system"
            self.installer()
        return out

    def installer(self):
        self.by_uv = self.has_uv and self.chance(0.8)

    def plain_pip(self):
        return self.pip() if self.by_uv else super().plain_pip()

    def pip(self, what="install"):
        if not self.by_uv and self.venv and not self.seeded:
            # A venv of uv has no pip: that of the base is the first in PATH.
            return f"{self.pick(['pip', 'pip3'])} {'uninstall -y' if what == 'uninstall' else what}"
        if not self.by_uv:
            return super().pip(what)
        return f"uv pip {what} {self.environment()}".rstrip()

    def environment(self):
        """The option that names the environment."""
        base = self.pick(["--system"] * 8 + ["--system --break-system-packages", "--python /usr/local/bin/python3", "--python=$(which python3)",
                                             "--system --python 3.11"])
        if self.venv:
            named = self.pick([f"--python {self.venv}/bin/python", f"--python={self.venv}/bin/python3", f"-p {self.venv}"])
            return self.pick([""] * 6 + [named, base]) if self.found else self.pick([named] * 4 + [base])
        return self.pick([""] * 6 + [base]) if self.found else base

    def flags(self):
        if not self.by_uv:
            return super().flags()
        return self.pick([""] * 6 + ["--no-cache "] * 2 + ["--no-cache-dir ", "-q ", "--upgrade ", "-U ", "--compile-bytecode ", "--link-mode=copy "])

    def more_flags(self):
        if not self.by_uv:
            return super().more_flags()
        return self.pick([""] * 8 + ["--no-deps ", "--reinstall ", "--force-reinstall ", "--upgrade-package torch ",
                                     "-P torch ", "--reinstall-package torch ", "--prerelease=allow ", "--prerelease allow ",
                                     "--prerelease if-necessary ", "--pre "])

    def index(self, asked):
        if not self.by_uv:
            return super().index(asked)
        page = PAGE + self.variant
        every = ["--index-strategy unsafe-best-match", "--index-strategy=unsafe-best-match"]
        if "+" in asked[0]:
            return self.pick([f"--index-url {page}", f"--extra-index-url {page}", f"--extra-index-url {page} {self.pick(every)}",
                              f"-f {PAGE}torch_stable.html", f"--index {page}", f"--torch-backend={self.variant}"])
        nightly = [f"--prerelease=allow --index-url {PAGE}nightly/cu130"] * 3 if asked == ["torch"] else []
        return self.pick([""] * 8 + [f"--index-url {page}"] * 4 + [f"--extra-index-url {page}"] * 2 + [f"--extra-index-url {page} {self.pick(every)}"] * 3 +
                         [f"-i {page}", f"--index {page}", f"--index pytorch={page}", f"--default-index {page}", f"--torch-backend={self.variant}",
                          f"--torch-backend {self.variant}", "--torch-backend=auto"] + nightly)

    def constrained(self):
        if not self.has_uv or self.chance(0.5):
            return super().constrained()
        path, self.by_uv = self.path(".txt"), True
        self.files[path] = f"torch=={self.release}\n"
        asked = " ".join(self.some(USES_TORCH + ["torch"], 2))
        if self.chance(0.4):
            return [f"COPY {path} /etc/{path}", f"ENV {self.pick(['UV_CONSTRAINT', 'UV_OVERRIDE'])}=/etc/{path}", f"RUN {self.pip()} {asked}"]
        option = self.pick(["--constraint", "--constraints", "--override", "--overrides"])
        return [f"COPY {path} /tmp/", f"RUN {self.pip()} {asked} {option} /tmp/{path}"]

    def listed(self):
        """Like that of pip, or a list that is all that stays in the environment."""
        if not self.has_uv or self.chance(0.94):
            return super().listed()
        path, self.by_uv = self.path(".txt"), True
        self.files[path] = "\n".join([f"torch=={self.release}", *self.some(PLAIN, 3)]) + "\n"
        return [f"COPY {path} /{path}", f"RUN {self.pip('sync')} /{path}"]

    def variables(self):
        self.installer()
        if not self.by_uv or self.chance(0.3):
            return super().variables()
        page, pip = PAGE + self.variant, self.pip()
        pinned = f"{pip} torch=={self.release}"
        any_ = self.pick([f"{pip} torch", pinned])
        return self.pick([[f"RUN UV_INDEX_URL={page} {any_}"], [f"RUN export UV_DEFAULT_INDEX={page} && {any_}"],
                          [f"ENV UV_DEFAULT_INDEX={page}", f"RUN {any_}"],
                          [f"ENV UV_EXTRA_INDEX_URL={page}", f"RUN {any_}"], [f"ENV UV_INDEX={page}", f"RUN {any_}"],
                          [f"ENV UV_EXTRA_INDEX_URL={page} UV_INDEX_STRATEGY=unsafe-best-match", f"RUN {any_}"],
                          [f"ENV UV_TORCH_BACKEND={self.variant}", f"RUN {pinned}"], ["ENV UV_PRERELEASE=allow", f"RUN {pip} accelerate"],
                          [f"ARG CUDA={self.variant}", f"RUN {pinned} --extra-index-url {PAGE}${{CUDA}} --index-strategy unsafe-best-match"]])

    def settings(self):
        if not self.has_uv or self.chance(0.5):
            return super().settings()
        if not self.venv and self.chance(0.3):
            self.found = "system"
            return [self.pick(["ENV UV_SYSTEM_PYTHON=1", "ENV UV_SYSTEM_PYTHON=true", "ENV UV_BREAK_SYSTEM_PACKAGES=1 UV_SYSTEM_PYTHON=1"])]
        return [self.pick(["ENV UV_LINK_MODE=copy", "ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy", "ENV UV_NO_CACHE=1", "ENV UV_HTTP_TIMEOUT=300",
                           "ENV UV_INDEX_STRATEGY=unsafe-best-match", "RUN uv cache clean", "RUN uv --version", "ENV UV_PROJECT_ENVIRONMENT=/opt/venv"])]

    def run(self):
        out = super().run()
        if self.by_uv and self.chance(0.2):
            out[0] = out[0].replace("RUN ", "RUN --mount=type=cache,target=/root/.cache/uv ", 1)
        return out

    def make_venv(self):
        if not self.has_uv:
            return super().make_venv()
        form = self.pick(["variable"] * 3 + ["here"] * 2 + ["activate", "plain", "path"])
        folder = "/app/.venv" if form == "here" else self.pick(["/opt/venv", "/venv"])
        make = self.pick(["uv venv"] * 6 + ["uv venv --system-site-packages", "uv venv --seed", "uv venv --python 3.11", "uv venv -p python3",
                                             "python3 -m venv"])
        self.venv, self.seeded, self.found = folder, not make.startswith("uv") or "--seed" in make, None
        if form == "here":
            self.found = "venv"
            place = "" if make.startswith("uv") else " .venv"
            return ["WORKDIR /app", f"RUN {make}{place}", *self.pick([['ENV PATH="/app/.venv/bin:$PATH"']] * 3 + [[]])]
        if form == "activate":
            self.found = "venv"
            out = [f"RUN {make} {folder} && . {folder}/bin/activate && {self.install()}"]
            self.found = None
            return out
        if form == "plain":
            self.by_uv = True
            return [f"RUN {make} {folder}", f"RUN {self.pip()} {' '.join(self.torch()[:1])}"]
        if form == "path":
            self.found = "venv"
            return [f"RUN {make} {folder}", f'ENV PATH="{folder}/bin:$PATH"']
        self.found = "venv"
        return [f"RUN {make} {folder}", *self.pick([[f"ENV VIRTUAL_ENV={folder}", 'ENV PATH="$VIRTUAL_ENV/bin:$PATH"'],
                                                    [f"ENV VIRTUAL_ENV={folder} PATH={folder}/bin:$PATH"], [f"ENV VIRTUAL_ENV={folder}"]])]

    def folders(self):
        return super().folders()[::2] if self.by_uv else super().folders()


def case(seed):
    """The files of one case: the Dockerfile and its context."""
    writer = (UvWriter if seed % 7 < 3 else Writer)(seed)
    return {"Dockerfile": "\n".join(writer.file()) + "\n", **writer.files}
