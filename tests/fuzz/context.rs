//! Files of a build context: scripts that a RUN starts, lists and locks that an installer reads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use imagelint::dockerfile::context::{ContextFile, ContextFileError, ContextReader};
use imagelint::dockerfile::{Dockerfile, EvaluateOptions};
use imagelint::extract;
use imagelint::model::fact::Origin;
use imagelint::text::source::{SourceId, SourceText, Sources};

/// A script, and the ways in which shells take one.
const SCRIPT: &str =
    "FROM python:3.11\nENV A=b\nWORKDIR /w\nCOPY . .\nRUN bash run.sh --a 1\nRUN ./run.sh && . ./run.sh\n";
/// Every installer that reads a list or a lock.
const LISTS: &str = "FROM python:3.11\nWORKDIR /w\nCOPY . .\n\
    RUN pip install -r requirements.txt -c constraints.txt\nRUN pip install . -e '.[gpu]'\n\
    RUN uv sync --frozen --extra gpu --group dev\nRUN uv pip install -r pyproject.toml\nRUN pip-sync requirements.txt\n\
    RUN poetry install --with dev\nRUN pdm sync -G gpu\nRUN pipenv install --deploy\nRUN pipenv sync\n\
    RUN conda env create -f environment.yml\nRUN conda create -n a --file explicit.txt\n\
    RUN conda-lock install -n a conda-lock.yml\nRUN pixi install --locked\nRUN pip install -r pylock.toml\n";

pub(crate) const SCRIPT_WORDS: &[&str] = &[
    "pip install torch==2.4.0\n",
    "if [ \"$A\" = b ]; then\n",
    "fi\n",
    "for x in a b; do\n",
    "done\n",
    "case $1 in a) ;; *) ;; esac\n",
    "f() { pip install $1; }\n",
    "f torch\n",
    "cat <<E > x.sh\n",
    "\nE\n",
    "$(cat $A)",
    "${A:-${B:=c}}",
    "${A//b/c}",
    "`a \\`b\\``",
    "export PIP_INDEX_URL=x\n",
    "set -e; cd /x || exit 1\n",
    ". ./run.sh\n",
    "bash -c 'bash -c \"a\"'",
    "((1<<2))",
    "[[ a =~ b ]]",
    "\\\n",
];

pub(crate) const LIST_WORDS: &[&str] = &[
    "torch==2.4.0+cu121\n",
    "torch>=2 ; python_version < '3.9' and platform_machine == 'x86_64'\n",
    "-r requirements.txt\n",
    "-c constraints.txt\n",
    "--index-url https://download.pytorch.org/whl/cu121\n",
    "name @ https://mirror.example/torch-2.4.0%2Bcu121-cp311-cp311-linux_x86_64.whl\n",
    "--hash=sha256:0 \\\n",
    "[[package]]\nname = \"torch\"\nversion = \"2.4.0\"\n",
    "source = { registry = \"x\" }\n",
    "dependencies = [{ name = \"torch\", marker = \"extra == 'gpu'\" }]\n",
    "[project]\nname = \"a\"\ndependencies = [\"torch\"]\n",
    "[project.optional-dependencies]\ngpu = [\"torch\"]\n",
    "[tool.uv.sources]\ntorch = { index = \"x\" }\n",
    "[tool.poetry.dependencies]\ntorch = { version = \"^2\", source = \"x\" }\n",
    "\"torch\": {\"version\": \"==2.4.0\", \"index\": \"x\"},",
    "dependencies:\n  - pytorch=2.4\n  - pip:\n    - torch\n",
    "- name: torch\n  version: 2.4.0\n  manager: conda\n  url: x\n",
    "@EXPLICIT\n",
    "&a *a",
    "{ a = { b = [",
];

/// Files of projects, as installers read them.
const PROJECT_FILES: &[&str] = &[
    "[project]\nname = \"app\"\nversion = \"0\"\ndependencies = [\"torch\"]\n",
    "[tool.poetry.dependencies]\npython = \"^3.10\"\ntorch = \"^2.1\"\n",
    "name: app\nchannels: [conda-forge]\ndependencies:\n  - python=3.10\n  - pip:\n    - torch==2.1.0+cu121\n",
];

fn fixture(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    String::from_utf8_lossy(&fs::read(root.join(path)).expect("a fixture")).into_owned()
}

pub(crate) fn script_seeds() -> Vec<String> {
    let seeds = [
        "#!/bin/bash\nset -euo pipefail\nif [ \"$1\" = --a ]; then\n  pip install torch==2.4.0 --index-url x\nfi\n",
        "for p in torch xformers; do pip install \"$p\" || true; done\ncat <<'E' | bash\npip install jax\nE\n",
        "install() {\n  local v=${1:-2.4.0}\n  python3 -m pip install \"torch==$v\"\n}\ninstall 2.5.1 && cd /x && ./run.sh\n",
        "case \"$(uname -m)\" in\n  x86_64) export TORCH_CUDA_ARCH_LIST='8.0 9.0+PTX' ;;\n  *) exit 1 ;;\nesac\n",
    ];
    seeds.map(str::to_owned).to_vec()
}

pub(crate) fn list_seeds() -> Vec<String> {
    let mut seeds: Vec<String> =
        ["locks/Pipfile.lock", "locks/extras/uv.lock", "locks/groups/poetry.lock", "locks/groups/requirements.txt"]
            .map(fixture)
            .to_vec();
    seeds.extend(PROJECT_FILES.iter().map(|file| (*file).to_owned()));
    seeds.extend(LIST_WORDS.iter().map(|word| (*word).to_owned()));
    seeds
}

/// A context in which every file has the same text.
struct Everywhere {
    source: SourceId,
    text: Arc<str>,
}

impl ContextReader for Everywhere {
    fn open(&self, _: &str) -> Result<ContextFile, ContextFileError> {
        Ok(ContextFile::new(self.source, Arc::clone(&self.text)))
    }
}

fn read(dockerfile: &str, text: &str) {
    let mut sources = Sources::default();
    let own = sources.add(SourceText::new("Dockerfile", dockerfile));
    let source = sources.add(SourceText::new("list", text));
    let build_context = Everywhere { source, text: Arc::from(text) };
    let target = extract::observe_dockerfile(
        own,
        &Dockerfile::parse(dockerfile),
        &EvaluateOptions::new(imagelint::knowledge::Knowledge::built_in()),
        &build_context,
    );
    let seen = target.expect("a stage").seen;
    for origin in seen.facts.iter().flat_map(|(id, _)| seen.facts.origins(id)) {
        if let Origin::File { source: at, span } = origin {
            let whole = if at == source { text } else { dockerfile };
            assert!(whole.get(span.start..span.end).is_some(), "{span:?} is no part of the text");
        }
    }
}

pub(crate) fn read_script(text: &str) {
    read(SCRIPT, text);
}

pub(crate) fn read_list(text: &str) {
    read(LISTS, text);
}
