//! Folders of wheels and settings of installers that are there and not at hand: what they hold may go before the index.

use crate::torch::{WHL, check};

const PY311: &str = "FROM python:3.11-slim\nWORKDIR /app\n";

fn all(cases: &[(String, &str)]) {
    let cases: Vec<(String, &str)> = cases.iter().map(|(text, said)| (format!("{PY311}{text}"), *said)).collect();
    check(&cases, "linux/amd64");
}

#[test]
fn a_folder_of_wheels_that_is_not_at_hand_leaves_the_build_open() {
    let copied = "COPY wheels /wheels\nRUN pip install";
    let mounted = "RUN --mount=type=bind,source=wheels,target=/wheels pip install";
    let links = "--find-links /wheels";
    all(&[
        (format!("{copied} {links} torch==2.6.0"), "2.6.0 ?"),
        (format!("{copied} {links} torch"), "? ?"),
        (format!("{copied} {links} 'torch>=2.6,<2.7'"), "? ?"),
        (format!("{copied} --no-index {links} torch"), "? ?"),
        (format!("{copied} --no-index {links} torch==2.6.0"), "2.6.0 ?"),
        (format!("{copied} --find-links=file:///wheels torch==2.6.0"), "2.6.0 ?"),
        (format!("{copied} {links} vllm==0.7.3"), "? ?"),
        (format!("{copied} {links} --extra-index-url {WHL}/cu118 torch==2.6.0"), "2.6.0 ?"),
        (format!("{mounted} {links} torch==2.6.0"), "2.6.0 ?"),
        (format!("{mounted} -f/wheels torch==2.6.0"), "2.6.0 ?"),
        (format!("ENV PIP_FIND_LINKS=/wheels\n{copied} torch==2.6.0"), "2.6.0 ?"),
        ("RUN --mount=from=wheels.example/w:1,target=/w pip install -f /w torch==2.6.0".to_owned(), "2.6.0 ?"),
        ("COPY . .\nRUN uv pip install --system --find-links wheels torch==2.6.0".to_owned(), "2.6.0 ?"),
        // The build is told, or nothing is looked for there.
        (format!("{copied} {links} torch==2.6.0+cu126"), "2.6.0 12.6"),
        (format!("{copied} --no-index {links} torch==2.6.0+cu126"), "2.6.0 12.6"),
        (format!("{copied} {links} numpy && pip install torch==2.6.0"), "2.6.0 12.4"),
        (format!("{copied} torch==2.6.0"), "2.6.0 12.4"),
        (format!("{mounted} torch==2.6.0"), "2.6.0 12.4"),
        ("RUN pip wheel -w /w torch==2.6.0 && pip install --no-index -f /w torch".to_owned(), "2.6.0 12.4"),
        ("RUN pip wheel -w /w torch==2.6.0 && pip install -f /w torch==2.6.0".to_owned(), "2.6.0 12.4"),
        (format!("RUN pip wheel -w /w torch==2.6.0 -i {WHL}/cu126 && pip install -f /w torch==2.6.0"), "2.6.0 12.6"),
        ("RUN pip wheel -w /w -r list.txt && pip install -f /w torch==2.6.0".to_owned(), "2.6.0 ?"),
    ]);
}

#[test]
fn wheels_of_another_stage_are_those_that_it_made() {
    let stage = "RUN pip wheel -w /wheels torch==2.6.0\nFROM python:3.11-slim\nCOPY --from=0 /wheels /wheels\n";
    all(&[
        (format!("{stage}RUN pip install --no-index --find-links /wheels torch"), "2.6.0 12.4"),
        (format!("{stage}RUN pip install --find-links=/wheels torch==2.6.0"), "2.6.0 12.4"),
        (format!("{stage}RUN pip install --no-index --find-links=/other torch"), "? ?"),
    ]);
}

#[test]
fn settings_that_are_not_at_hand_leave_the_build_open() {
    let secret = "RUN --mount=type=secret,id=p";
    let install = "pip install torch==2.6.0";
    all(&[
        (format!("{secret},target=/etc/pip.conf {install}"), "2.6.0 ?"),
        (format!("{secret},target=/root/.config/pip/pip.conf {install}"), "2.6.0 ?"),
        (format!("{secret},target=/home/me/.pip/pip.conf {install}"), "2.6.0 ?"),
        (format!("ENV PIP_CONFIG_FILE=/run/secrets/p\n{secret} {install}"), "2.6.0 ?"),
        (format!("{secret},target=/p.conf PIP_CONFIG_FILE=/p.conf {install}"), "2.6.0 ?"),
        (format!("{secret},target=/etc/uv/uv.toml uv {install} --system"), "2.6.0 ?"),
        (format!("COPY pip.conf /etc/pip.conf\nRUN {install}"), "2.6.0 ?"),
        (format!("COPY conf/own.conf /etc/pip.conf\nRUN {install}"), "2.6.0 ?"),
        (format!("COPY --from=settings.example/s:1 /pip.conf /etc/pip.conf\nRUN {install}"), "2.6.0 ?"),
        (format!("COPY uv.toml .\nRUN uv {install} --system"), "2.6.0 ?"),
        // An index that the command names goes before theirs, and no other file counts.
        (format!("{secret},target=/etc/pip.conf {install} -i {WHL}/cu126"), "2.6.0 12.6"),
        (format!("{secret},target=/etc/pip.conf {install}+cu118"), "2.6.0 11.8"),
        (format!("{secret},target=/etc/pip.conf uv {install} --system"), "2.6.0 12.4"),
        (format!("{secret},target=/etc/pip.conf true\nRUN {install}"), "2.6.0 12.4"),
        (format!("{secret} {install} -i https://u:$(cat /run/secrets/p)@mirror.example/simple"), "2.6.0 12.4"),
        (format!("{secret},target=/root/.netrc {install}"), "2.6.0 12.4"),
        (format!("{secret},env=HF_TOKEN {install}"), "2.6.0 12.4"),
        (format!("RUN --mount=type=ssh --mount=type=cache,target=/root/.cache/pip {install}"), "2.6.0 12.4"),
        (format!("COPY pip.conf /srv/pip.conf\nRUN {install}"), "2.6.0 12.4"),
        (format!("COPY conf/ /root/.config/\nRUN {install}"), "2.6.0 12.4"),
        (format!("COPY nginx.conf /etc/nginx.conf\nRUN {install}"), "2.6.0 12.4"),
        (format!("ENV PIP_CONFIG_FILE=/dev/null\nRUN {install}"), "2.6.0 12.4"),
    ]);
}

#[test]
fn a_variable_that_nothing_sets_has_its_default() {
    let one = |base: &str, word: &str| format!("FROM {base}\nRUN pip install torch=={word}");
    let cases = [
        (one("python:3.11-slim", "${TORCH:-1.13.1}"), "1.13.1 11.7"),
        (one("ubuntu:22.04", "${TORCH-1.13.1}"), "1.13.1 11.7"),
        (one("python:3.11-slim", "1.13.1${TORCH:++cu116}"), "1.13.1 11.7"),
        ("FROM python:3.11\nENV V=${TORCH:-1.13.1}\nRUN pip install torch==$V".to_owned(), "1.13.1 11.7"),
        ("FROM python:3.11\nRUN V=${TORCH:-1.13.1} && pip install torch==$V".to_owned(), "1.13.1 11.7"),
        // The base, a shell or a file may set it.
        (one("python:3.11-slim", "${PYTHON_VERSION:-1.13.1}"), "? ?"),
        (one("registry.example/base:1", "${TORCH:-1.13.1}"), "? ?"),
        (one("python:3.11-slim", "${HOSTNAME:-1.13.1}"), "? ?"),
        ("FROM python:3.11\nRUN . ./env.sh; pip install torch==${TORCH:-1.13.1}".to_owned(), "? ?"),
        ("FROM python:3.11\nRUN read TORCH; pip install torch==${TORCH:-1.13.1}".to_owned(), "? ?"),
        (one("python:3.11-slim", "$TORCH"), "? ?"),
        (one("python:3.11-slim", "${TORCH:?}"), "? ?"),
    ];
    check(&cases, "linux/amd64");
}
