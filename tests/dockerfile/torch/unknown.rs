//! Where the address of an index, a bound or what lies in a folder cannot be told, no version and no build is named.

use crate::torch::{PY311, WHL, check, torch};

const CUDA: &str = "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\n";

#[test]
fn the_build_of_an_index_that_is_not_known_is_not_told() {
    let (args, uv) = (format!("{PY311}ARG IDX\nARG CU\n"), format!("{PY311}ARG IDX\nRUN uv pip install torch==2.3.1"));
    check(
        &[
            (format!("{CUDA}RUN pip install torch==2.3.1 --index-url {WHL}/cu$(foo)"), "2.3.1 ?"),
            (format!("{args}RUN pip install torch==2.3.1 --index-url $IDX"), "2.3.1 ?"),
            (format!("{args}RUN pip install torch==2.3.1 --index-url=\"${{IDX}}\""), "2.3.1 ?"),
            (format!("{args}RUN pip install torch==2.3.1 -i{WHL}/$CU"), "2.3.1 ?"),
            (format!("{args}RUN pip install torch==2.3.1 -f $CU"), "2.3.1 ?"),
            (format!("{args}RUN pip install torch==2.3.1 --extra-index-url {WHL}/$CU"), "2.3.1 ?"),
            (format!("{args}RUN pip install torch --extra-index-url {WHL}/$CU"), "? ?"),
            (format!("{args}ENV PIP_INDEX_URL=$IDX\nRUN pip install torch==2.3.1"), "2.3.1 ?"),
            (format!("{args}RUN PIP_EXTRA_INDEX_URL=$IDX pip install torch==2.3.1"), "2.3.1 ?"),
            (format!("{args}RUN pip config set global.index-url $IDX\nRUN pip install torch==2.3.1"), "2.3.1 ?"),
            (
                format!("{args}RUN echo '--index-url ${{IDX}}' > r && echo torch==2.3.1 >> r && pip install -r r"),
                "2.3.1 ?",
            ),
            (format!("{uv} --torch-backend=$IDX"), "2.3.1 ?"),
            (format!("{uv} --torch-backend $IDX"), "2.3.1 ?"),
            (format!("{uv} --index $IDX --index {WHL}/cu118"), "2.3.1 ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_is_known_of_an_address_or_a_version_still_decides() {
    let args = format!("{PY311}ARG IDX\nARG PIP_INDEX_URL\nARG HOST\n");
    let cut = "cut -d. -f1,2 | tr -d .";
    check(
        &[
            (format!("{args}RUN pip install torch==2.3.1+cu118 --index-url $IDX"), "2.3.1 11.8"),
            (format!("{args}RUN pip install torch==2.3.1 --index-url https://$HOST/whl/cu118"), "2.3.1 11.8"),
            (format!("{args}RUN pip install torch==2.3.1 -i https://$HOST:8080/simple"), "2.3.1 12.1"),
            (format!("{args}RUN uv pip install torch==2.3.1 --index {WHL}/cu118 --index $IDX"), "2.3.1 11.8"),
            // Without the command line an argument sets nothing, and only the base could set what nobody names.
            (format!("{args}RUN pip install torch==2.3.1"), "2.3.1 12.1"),
            (format!("{PY311}RUN pip install torch==2.3.1"), "2.3.1 12.1"),
            (format!("{args}RUN pip install flask -i $IDX\nRUN pip install torch==2.3.1"), "2.3.1 12.1"),
            // The base sets the version of its CUDA, which hides an argument of that name.
            (
                format!("{CUDA}RUN pip install torch==2.3.1 --index-url {WHL}/cu$(echo $CUDA_VERSION | {cut})"),
                "2.3.1 11.8",
            ),
            (
                format!(
                    "{CUDA}ARG CUDA_VERSION=12.1.0\nENV CU=${{CUDA_VERSION%.*}}\nRUN pip install torch==2.3.1 -i {WHL}/cu${{CU/./}}"
                ),
                "2.3.1 11.8",
            ),
            (
                format!("{PY311}RUN pip install torch==2.3.1 --index-url {WHL}/cu$(echo $CUDA_VERSION | {cut})"),
                "2.3.1 ?",
            ),
        ],
        "linux/amd64",
    );
}

#[test]
fn without_an_index_a_wheel_of_a_folder_is_not_told() {
    check(
        &[
            (format!("{PY311}RUN pip install --no-index --find-links=/wheels torch"), "? ?"),
            (format!("{PY311}RUN uv pip install --no-index -f /wheels torch"), "? ?"),
            (format!("{PY311}RUN uv pip install --no-index -f /wheels torch==2.3.1"), "2.3.1 ?"),
            (format!("{PY311}ENV PIP_NO_INDEX=1\nRUN pip install -f /wheels torch"), "? ?"),
            (format!("{PY311}RUN pip install --no-index -f /wheels torch==2.3.1+cu118"), "2.3.1 11.8"),
            (format!("{PY311}RUN pip install --no-index -f {WHL}/cu118/torch_stable.html torch==2.3.1"), "2.3.1 11.8"),
            (format!("{PY311}ENV PIP_NO_INDEX=0\nRUN pip install -f /wheels torch==2.3.1"), "2.3.1 ?"),
            (format!("{PY311}ENV PIP_NO_INDEX=0\nRUN pip install torch==2.3.1"), "2.3.1 12.1"),
            (format!("{PY311}RUN pip install --no-index /w/flask.whl\nRUN pip install torch==2.3.1"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_bound_that_was_not_read_leaves_an_open_version_open() {
    check(
        &[
            (format!("{PY311}RUN pip install torch -c /c.txt"), "? ?"),
            (format!("{PY311}RUN pip install 'torch>=2.3' --constraint=/c.txt"), "? ?"),
            (format!("{PY311}ARG C\nRUN pip install torch --constraint=$C"), "? ?"),
            (format!("{PY311}ENV PIP_CONSTRAINT=/c.txt\nRUN pip install torch"), "? ?"),
            (format!("{PY311}RUN PIP_CONSTRAINT=/c.txt pip install torch"), "? ?"),
            (format!("{PY311}ENV UV_CONSTRAINT=/c.txt\nRUN uv pip install torch"), "? ?"),
            // A version that is pinned stays; what was read counts; each tool has a variable of its own.
            (format!("{PY311}RUN pip install torch==2.3.1 -c /c.txt"), "2.3.1 12.1"),
            (
                format!("{PY311}RUN echo torch==2.3.1 > /c.txt\nENV PIP_CONSTRAINT=/c.txt\nRUN pip install torch"),
                "2.3.1 12.1",
            ),
            (format!("{PY311}ENV PIP_CONSTRAINT=\nRUN pip install 'torch<2.3.2'"), "2.3.1 12.1"),
            (format!("{PY311}ENV UV_CONSTRAINT=/c.txt\nRUN pip install 'torch<2.3.2'"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn markers_on_the_command_line_count_and_a_trial_installs_nothing() {
    let two = "RUN pip install \"torch==2.3.1; python_version<'3.11'\" \"torch==2.6.0; python_version>='3.11'\"";
    check(
        &[
            (format!("{PY311}RUN pip install 'torch==2.6.0; sys_platform==\"darwin\"'"), "-"),
            (format!("FROM python:3.10\n{two}"), "2.3.1 12.1"),
            (format!("{PY311}{two}"), "2.6.0 12.4"),
            (format!("{PY311}RUN pip install --dry-run torch"), "-"),
            (format!("{PY311}RUN uv pip install torch==2.3.1 --dry-run"), "-"),
            (format!("{PY311}RUN poetry add --dry-run torch==2.3.1"), "-"),
            (format!("{PY311}RUN pdm add torch==2.3.1 --dry-run"), "-"),
            (format!("{PY311}RUN poetry add torch==2.3.1 && poetry add --dry-run torch==2.4.0"), "2.3.1 12.1"),
            (format!("{PY311}RUN poetry add torch==2.3.1"), "2.3.1 12.1"),
            (format!("{PY311}RUN pip install --no-deps torch==2.3.1"), "2.3.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_is_installed_alone_brings_no_torch() {
    let two = format!("{PY311}RUN pip install torch==2.4.0\nRUN ");
    check(
        &[
            (format!("{two}pip install --no-deps torchaudio==2.3.0"), "2.4.0 12.1"),
            (
                format!(
                    "{two}pip install torchaudio==2.3.0 --no-deps --index-url https://download.pytorch.org/whl/cu118"
                ),
                "2.4.0 12.1",
            ),
            (format!("{two}PIP_NO_DEPS=1 pip install torchaudio==2.3.0"), "2.4.0 12.1"),
            (format!("{two}uv pip install --no-deps torchaudio==2.3.0"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install --no-deps torchvision==0.18.0"), "-"),
            (format!("{PY311}RUN pip install --no-deps vllm==0.6.3"), "-"),
            // With what they depend on they bring it.
            (format!("{two}pip install torchaudio==2.3.0"), "2.3.0 12.1"),
            (format!("{two}PIP_NO_DEPS=0 pip install torchaudio==2.3.0"), "2.3.0 12.1"),
            (format!("{two}pip install --no-deps numpy && pip install torchaudio==2.3.0"), "2.3.0 12.1"),
            (format!("{PY311}RUN pip install torchvision==0.18.0"), "2.3.0 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_was_not_read_keeps_a_later_default_build_from_being_certain() {
    let list = "COPY r.txt /tmp/r.txt\nRUN pip install -r /tmp/r.txt\n";
    let flash = "https://host.example/flash_attn-2.5.8+cu122torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl";
    let wheel = "torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl";
    let kept = "packages/ab/cd/0123456789012345678901234567890123456789012345678901234567890123";
    for (lines, expected) in [
        (format!("{list}RUN pip install accelerate"), "? ?"),
        (format!("{list}RUN pip install torch"), "? ?"),
        // A pin without a build is met by any build of that version that the list may have brought.
        (format!("{list}RUN pip install torch==2.4.0"), "2.4.0 ?"),
        (format!("{list}RUN pip install torch==2.4.0 --index-url {WHL}/cu121"), "2.4.0 ?"),
        (format!("{list}RUN pip install torch==2.4.0+cu121 --index-url {WHL}/cu121"), "2.4.0 12.1"),
        (format!("{list}RUN pip install --force-reinstall torch==2.4.0"), "2.4.0 12.1"),
        (format!("{list}RUN pip install --force-reinstall vllm==0.6.3"), "2.4.0 12.1"),
        (format!("{list}RUN pip install torch==2.4.0\nRUN pip install torch==2.5.0"), "2.5.0 12.4"),
        (format!("{list}RUN pip install torch\nRUN pip install torch==2.4.0"), "2.4.0 ?"),
        (format!("RUN pip install torch==2.4.0\n{list}"), "2.4.0 12.1"),
        // A script that was not read may have brought torch, and no other build of what is pinned.
        ("COPY setup.sh /setup.sh\nRUN bash /setup.sh\nRUN pip install torch==2.4.0".to_owned(), "2.4.0 12.1"),
        ("COPY setup.sh /setup.sh\nRUN bash /setup.sh\nRUN pip install torch".to_owned(), "? ?"),
        (format!("{list}RUN pip install vllm==0.6.3"), "2.4.0 ?"),
        (format!("{list}RUN pip install xformers==0.0.28"), "2.4.1 ?"),
        ("RUN pip install -r https://host.example/r.txt\nRUN pip install accelerate".to_owned(), "? ?"),
        ("COPY . /app\nRUN pip install -e /app\nRUN pip install torch".to_owned(), "? ?"),
        ("COPY c.txt /c.txt\nRUN pip install -c /c.txt accelerate==1.0.0".to_owned(), "? ?"),
        ("COPY c.txt /c.txt\nRUN pip install -c /c.txt torch==2.4.0".to_owned(), "2.4.0 12.1"),
        (format!("RUN pip install https://host.example/{wheel}"), "2.0.0 ?"),
        (format!("RUN pip install https://host.example/cu118/{wheel}"), "2.0.0 11.8"),
        (format!("RUN pip install https://mirror.example/{kept}/{wheel}"), "2.0.0 11.7"),
        (format!("RUN pip install {flash}"), "? ?"),
        (format!("RUN pip install {flash}\nRUN pip install accelerate"), "? ?"),
        (format!("RUN pip install torch==2.3.0\nRUN pip install {flash}"), "2.3.0 12.1"),
    ] {
        assert_eq!(torch(&format!("{PY311}{lines}\n"), "linux/amd64", None), expected, "{lines}");
    }
}

#[test]
fn what_a_source_installs_that_was_not_read_may_bring_torch() {
    let source = "git+https://github.com/example/unheard-of";
    for (lines, expected) in [
        (format!("RUN pip install {source}\nRUN pip install accelerate"), "? ?"),
        (format!("RUN pip install -e {source}@v1#egg=unheard\nRUN pip install accelerate"), "? ?"),
        (format!("RUN pip install 'unheard @ {source}'\nRUN pip install accelerate"), "? ?"),
        (format!("RUN pip install {source} accelerate"), "? ?"),
        (format!("RUN echo {source} > r.txt && pip install -r r.txt\nRUN pip install torch==2.4.0"), "2.4.0 ?"),
        ("RUN pip install https://host.example/unheard-1.0.tar.gz\nRUN pip install torch==2.4.0".to_owned(), "2.4.0 ?"),
        ("RUN pip install https://host.example/x/archive/main.zip\nRUN pip install accelerate".to_owned(), "? ?"),
        // These bring no torch, or no other build of it.
        (format!("RUN pip install {source} torch==2.4.0"), "2.4.0 12.1"),
        (format!("RUN printf 'torch==2.4.0\\n{source}\\n' > r.txt && pip install -r r.txt"), "2.4.0 12.1"),
        (format!("RUN pip install --no-deps {source}\nRUN pip install torch==2.4.0"), "2.4.0 12.1"),
        (format!("RUN pip install torch==2.4.0\nRUN pip install {source}"), "2.4.0 12.1"),
        (
            "RUN pip install git+https://github.com/huggingface/tokenizers\nRUN pip install torch==2.4.0".to_owned(),
            "2.4.0 12.1",
        ),
        (format!("RUN pip download {source}\nRUN pip install torch==2.4.0"), "2.4.0 12.1"),
        (format!("RUN pip install '{source} ; sys_platform == \"win32\"'\nRUN pip install torch==2.4.0"), "2.4.0 12.1"),
        (format!("RUN pip install {source}"), "-"),
    ] {
        assert_eq!(torch(&format!("{PY311}{lines}\n"), "linux/amd64", None), expected, "{lines}");
    }
}

#[test]
fn what_a_builder_installs_by_a_list_that_was_not_read_comes_along() {
    let builder = "FROM python:3.11 AS a\nCOPY r.txt /tmp/r.txt\n\
        RUN python -m venv /v && /v/bin/pip install -r /tmp/r.txt\nFROM python:3.11\n";
    for (lines, expected) in [
        ("COPY --from=a /v /v\nRUN /v/bin/pip install accelerate", "? ?"),
        ("COPY --from=a /v /v\nRUN /v/bin/pip install torch==2.4.0", "2.4.0 ?"),
        ("COPY --from=a /v/lib /v/lib\nRUN /v/bin/pip install torch==2.4.0", "2.4.0 ?"),
        ("COPY --from=a / /\nRUN /v/bin/pip install torch==2.4.0", "2.4.0 ?"),
        ("RUN pip install torch==2.4.0", "2.4.0 12.1"),
        ("COPY --from=a /tmp/r.txt /r.txt\nRUN pip install torch==2.4.0", "2.4.0 12.1"),
        ("COPY --from=a /v/bin/tool /usr/local/bin/tool\nRUN pip install torch==2.4.0", "2.4.0 12.1"),
        ("RUN pip install torch==2.4.0\nCOPY --from=a /v /v", "2.4.0 12.1"),
    ] {
        assert_eq!(torch(&format!("{builder}{lines}\n"), "linux/amd64", None), expected, "{lines}");
    }
    let chain = "FROM python:3.11 AS a\nRUN python -m venv /v && /v/bin/pip install -r /tmp/r.txt\n\
        FROM python:3.11 AS b\nCOPY --from=a /v /w\nFROM python:3.11\nCOPY --from=b /w /w\n\
        RUN /w/bin/pip install torch==2.4.0\n";
    assert_eq!(torch(chain, "linux/amd64", None), "2.4.0 ?", "{chain}");
}

#[test]
fn the_name_of_a_wheel_tells_its_version_wherever_it_lies() {
    let wheel = "torch-2.4.0-cp311-cp311-linux_x86_64.whl";
    for (lines, expected) in [
        (format!("ARG U\nRUN pip install $U/{wheel}"), "2.4.0 ?"),
        (format!("ARG U\nRUN pip install \"${{U}}/{wheel}\""), "2.4.0 ?"),
        ("ARG U\nRUN pip install $U/torch-2.4.0-cp311-cp311-manylinux1_x86_64.whl".to_owned(), "2.4.0 ?"),
        (format!("ARG U\nRUN pip install https://host.example/$U/{wheel}"), "2.4.0 ?"),
        (format!("ARG U\nRUN pip install $U/cu118/{wheel}"), "2.4.0 11.8"),
        ("ARG U\nRUN pip install $U/torch-2.4.0+cu118-cp311-cp311-linux_x86_64.whl".to_owned(), "2.4.0 11.8"),
        ("ARG U\nRUN pip install $U/flask-3.0.0-py3-none-any.whl".to_owned(), "-"),
        ("ARG V\nRUN pip install torch-$V-cp311-cp311-linux_x86_64.whl".to_owned(), "-"),
        ("ARG U\nRUN pip uninstall -y $U/torch-2.4.0.whl".to_owned(), "-"),
        (format!("ARG U\nRUN pip install -r $U/{wheel}.txt"), "-"),
    ] {
        assert_eq!(torch(&format!("{PY311}{lines}\n"), "linux/amd64", None), expected, "{lines}");
    }
}
