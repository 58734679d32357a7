//! What bounds a release, names its own build or lies apart: which torch comes along, and which stays.

use crate::torch::{PY311, WHL, check};

#[test]
fn what_is_bounded_brings_a_torch_within_the_bounds() {
    let with = |tool: &str, bound: &str, install: &str| {
        format!("{PY311}RUN echo \"{bound}\" > /c.txt && {tool} /c.txt {install}\n")
    };
    let pip = |bound: &str, install: &str| with("pip install -c", bound, install);
    check(
        &[
            (pip("torch==2.5.1", "vllm"), "2.5.1 12.4"),
            (pip("torch<2.6", "vllm"), "2.5.1 12.4"),
            (pip("torch==2.5.1", "torchvision"), "2.5.1 12.4"),
            (pip("torch<2.6", "torchvision"), "2.5.1 12.4"),
            (pip("torch==2.5.1", "'torch>=2' accelerate"), "2.5.1 12.4"),
            (pip("torch==2.5.1+cu121", &format!("vllm --extra-index-url {WHL}/cu121")), "2.5.1 12.1"),
            (pip("torch==2.5.1", &format!("accelerate --index-url {WHL}/cu118")), "2.5.1 11.8"),
            (with("uv pip install --system --constraint", "torch==2.5.1", "vllm"), "2.5.1 12.4"),
            (with("uv pip install --system --override", "torch==2.5.1", "vllm==0.6.3"), "2.5.1 12.4"),
            (
                format!("{PY311}ENV PIP_CONSTRAINT=/c.txt\nRUN echo torch==2.5.1 > /c.txt; pip install vllm"),
                "2.5.1 12.4",
            ),
            // What bounds nothing of it, or bounds nothing at all.
            (pip("numpy<2", "vllm"), "2.14.0 13.0"),
            (pip("torch>=2.0", "vllm"), "2.14.0 13.0"),
            (pip("torch==2.5.1; python_version < '3.8'", "vllm"), "2.14.0 13.0"),
            (pip("torch==2.5.1", "flask; pip install vllm"), "2.14.0 13.0"),
            (pip("torch==2.5.1", "flask"), "-"),
            (pip("torch==2.5.1", "torch==2.4.0"), "2.4.0 12.1"),
            // What nobody can tell.
            (pip("torch==$NOWHERE", "vllm"), "? ?"),
            (pip("torch<1.0", "vllm"), "? ?"),
            (pip("torch<2.6", "vllm==99.0"), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn what_stands_beside_torch_bounds_it_too() {
    let with = |tool: &str, bound: &str, install: &str| {
        format!("{PY311}RUN printf '{bound}' > /c.txt && {tool} /c.txt {install}\n")
    };
    let pip = |bound: &str, install: &str| with("pip install -c", bound, install);
    check(
        &[
            (pip("torchvision==0.19.1", "torch torchvision"), "2.4.1 12.1"),
            (pip("torchvision<0.20", "torch torchvision"), "2.4.1 12.1"),
            (pip("torchaudio==2.4.1", "torch torchaudio"), "2.4.1 12.1"),
            (pip("vllm==0.4.2", "vllm"), "2.3.0 12.1"),
            (pip("torchvision==0.19.0", "vllm"), "2.4.0 12.1"),
            (with("uv pip install --system -c", "torchvision==0.19.0", "vllm"), "2.4.0 12.1"),
            (
                format!(
                    "{PY311}RUN echo torchvision==0.19.1 > /c.txt\nENV PIP_CONSTRAINT=/c.txt\nRUN pip install torch torchvision"
                ),
                "2.4.1 12.1",
            ),
            (with("uv pip install --system --override", "torch<2.3", "torch==2.4.1"), "2.2.2 12.1"),
            (with("uv pip install --system --overrides", "torch==2.5.1", "torch==2.4.1"), "2.5.1 12.4"),
            // An older release is taken, and no table says which.
            (pip("transformers<4.45", "vllm"), "? ?"),
            (pip("torchaudio<2", "vllm"), "? ?"),
            (format!("{PY311}RUN pip install transformers==4.40.0 vllm"), "? ?"),
            (format!("{PY311}RUN pip install torch triton==3.1.0"), "? ?"),
            (format!("{PY311}RUN uv pip install --system torch==2.4.1 --override /o.txt"), "? ?"),
            // What nothing asks for is not installed, what goes with the newest holds nothing back, and what an earlier
            // command installed is replaced.
            (pip("torchvision==0.19.1", "torch"), "2.15.0 13.2"),
            (pip("transformers<4.45", "torch"), "2.15.0 13.2"),
            (pip("nvidia-cublas-cu12==12.1.3.1", "torch"), "2.15.0 13.2"),
            (pip("torchvision==0.19.1", "torch==2.5.1"), "2.5.1 12.4"),
            (pip("transformers>=5.17", "vllm"), "2.14.0 13.0"),
            (format!("{PY311}RUN pip install 'numpy<2' 'sympy>=1.12' torch"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install triton==3.1.0 && pip install torch"), "2.15.0 13.2"),
            (format!("{PY311}RUN pip install torch==2.4.1 triton==3.0.0"), "2.4.1 12.1"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_wheel_that_names_its_build_brings_torch_from_the_indexes_of_the_command() {
    let wheel = "https://github.com/vllm-project/vllm/releases/download/v0.6.1.post1/\
        vllm-0.6.1.post1+cu118-cp311-cp311-manylinux1_x86_64.whl";
    let extra = format!("--extra-index-url {WHL}/cu118");
    check(
        &[
            (format!("{PY311}RUN pip install {wheel} {extra}"), "2.4.0 11.8"),
            (format!("{PY311}RUN pip install xformers==0.0.23.post1+cu118 {extra}"), "2.1.2 11.8"),
            (format!("{PY311}RUN pip install torchvision==0.19.0+cu118 --index-url {WHL}/cu118"), "2.4.0 11.8"),
            (format!("{PY311}RUN pip install torchaudio==2.4.0+cu118 -f {WHL}/torch_stable.html"), "? ?"),
            // Of the default index, torch is its build.
            (format!("{PY311}RUN pip install {wheel}"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install {wheel} --extra-index-url https://mirror.example/simple"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install torch==2.4.0+cu118 --extra-index-url {WHL}/cu121"), "2.4.0 11.8"),
            (format!("{PY311}RUN pip install --no-deps {wheel} {extra}"), "-"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_torch_of_the_base_stays_where_its_month_tells_that_it_will_do() {
    let ngc =
        |month: &str, install: &str| format!("FROM nvcr.io/nvidia/pytorch:{month}-py3\nRUN pip install {install}\n");
    check(
        &[
            (ngc("24.02", "accelerate"), "2.3.0a0+ebedce2 12.3.2.001"),
            (ngc("21.10", "'torch>=1.9'"), "1.10.0a0+0aef44c 11.4.2"),
            // The tables tell no version: those before and after would do, or they would not.
            (ngc("25.07", "accelerate"), "-"),
            (ngc("26.07", "accelerate 'torch>=2.6'"), "-"),
            (ngc("99.01", "accelerate"), "-"),
            (ngc("25.07", "torch==2.4.0"), "2.4.0 12.1"),
            (ngc("25.07", "vllm==0.6.3"), "? ?"),
            (ngc("26.07", "'torch<2.9'"), "? ?"),
            (ngc("20.01", "accelerate"), "? ?"),
            ("FROM nvcr.io/nvidia/pytorch:latest\nRUN pip install accelerate\n".to_owned(), "? ?"),
            ("FROM nvcr.io/nvidia/tensorflow:24.02-tf2-py3\nRUN pip install accelerate\n".to_owned(), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_torch_for_the_gpus_of_another_maker_stays() {
    let on = |base: &str, install: &str| format!("FROM {base}\nRUN pip install {install}\n");
    check(
        &[
            (on("rocm/pytorch:latest", "accelerate"), "-"),
            (on("rocm/vllm:latest", "vllm torch"), "-"),
            (
                on("vault.habana.ai/gaudi-docker/1.17.0/ubuntu22.04/habanalabs/pytorch-installer-2.3.1:latest", "peft"),
                "-",
            ),
            // Another version is asked for, or there is none.
            (on("rocm/pytorch:latest", "torch==2.4.0"), "2.4.0 12.1"),
            (on("rocm/pytorch:latest", "-U 'torch<2.5'"), "? ?"),
            (on("rocm/dev-ubuntu-22.04:6.2", "torch==2.4.0"), "2.4.0 12.1"),
            (on("ghcr.io/astral-sh/uv:python3.12-bookworm-slim", "'torch<2.5'"), "2.4.1 12.1"),
            (on("ghcr.io/prefix-dev/pixi:0.40.0-jammy-cuda-12.2.2", "torch"), "? ?"),
            (on("rocmx/pytorch:latest", "accelerate"), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn an_environment_of_its_own_holds_nothing_of_the_base() {
    let on = |base: &str, lines: &str| format!("FROM {base}\n{lines}\n");
    let acme = |lines: &str| on("ghcr.io/acme/pybase:1", lines);
    let range = "'torch>=2.6,<2.8'";
    check(
        &[
            (
                acme(&format!(
                    "RUN uv venv -p 3.12 /opt/v\nENV VIRTUAL_ENV=/opt/v\nRUN uv pip install {range} --index-url {WHL}/cu126"
                )),
                "2.7.1 12.6",
            ),
            (acme(&format!("RUN python3.12 -m venv /v && /v/bin/pip install {range}")), "2.7.1 12.6"),
            (acme(&format!("RUN uv init && uv add {range}")), "2.7.1 12.6"),
            (
                acme("RUN python3.12 -m venv /v && /v/bin/pip install torch==2.7.1 && /v/bin/pip install peft"),
                "2.7.1 12.6",
            ),
            (
                on("nvcr.io/nvidia/pytorch:24.05-py3", "RUN python3.12 -m venv /v && /v/bin/pip install 'vllm==0.6.3'"),
                "2.4.0 12.1",
            ),
            // What sees the packages of the base, or is none of its own.
            (acme(&format!("RUN python3.12 -m venv --system-site-packages /v && /v/bin/pip install {range}")), "? ?"),
            (acme(&format!("RUN python3.12 -m venv /v && pip install {range}")), "? ?"),
            (acme(&format!("ENV UV_PROJECT_ENVIRONMENT=/usr/local\nRUN uv init && uv add {range}")), "? ?"),
            (acme(&format!("RUN uv venv --system-site-packages && uv add {range}")), "? ?"),
            (acme(&format!("RUN pip install {range}")), "? ?"),
        ],
        "linux/amd64",
    );
}

#[test]
fn an_old_release_of_another_package_leaves_the_torch_of_the_base() {
    let on = |tag: &str, install: &str| format!("FROM pytorch/pytorch:{tag}\nRUN pip install {install}\n");
    let old = |install: &str| on("1.13.1-cuda11.6-cudnn8-runtime", install);
    let fresh = |install: &str| format!("{PY311}RUN pip install torch==1.13.1\nRUN pip install {install}\n");
    let ngc = |install: &str| format!("FROM nvcr.io/nvidia/pytorch:22.11-py3\nRUN pip install {install}\n");
    check(
        &[
            (old("pytorch-lightning==1.7.7"), "1.13.1 11.6.2"),
            (old("pytorch-lightning==1.7.0"), "1.13.1 11.6.2"),
            (old("lightning==2.0.0"), "1.13.1 11.6.2"),
            (old("bitsandbytes==0.41.0"), "1.13.1 11.6.2"),
            (old("'pytorch-lightning<2' 'bitsandbytes<=0.42'"), "1.13.1 11.6.2"),
            (old("'accelerate<1'"), "1.13.1 11.6.2"),
            (on("1.12.1-cuda11.3-cudnn8-runtime", "lightning==2.0.9"), "1.12.1 11.3"),
            // The releases that the tables tell ask for more, and so may this one or not.
            (old("pytorch-lightning==2.2.0"), "? ?"),
            (old("bitsandbytes==0.45.0"), "? ?"),
            (old("'pytorch-lightning>=2.2,<2.3'"), "? ?"),
            (old("auto-gptq==0.0.1"), "1.13.1 11.6.2"),
            (ngc("accelerate"), "? ?"),
            // What certainly asks for more, names torch, or finds none.
            (fresh("pytorch-lightning"), "2.15.0 13.2"),
            (fresh("pytorch-lightning==2.4.0"), "2.15.0 13.2"),
            (fresh("bitsandbytes==0.45.5"), "2.15.0 13.2"),
            (fresh("'pytorch-lightning>=1.5'"), "2.15.0 13.2"),
            (fresh("pytorch-lightning==1.7.7 && pip install pytorch-lightning"), "2.15.0 13.2"),
            (fresh("pytorch-lightning==1.7.7"), "1.13.1 11.7"),
            (old("accelerate==0.34.2 torch==2.4.0"), "2.4.0 12.1"),
            (old("pytorch-lightning==2.2.0 torch==2.4.0"), "2.4.0 12.1"),
            (format!("{PY311}RUN pip install pytorch-lightning==1.7.7"), "2.15.0 13.2"),
        ],
        "linux/amd64",
    );
}

#[test]
fn a_torch_that_is_copied_out_of_an_image_is_that_of_the_image() {
    let of_stage = |image: &str, copy: &str| format!("FROM {image} AS b\n{PY311}COPY --from=b {copy}\n");
    let of_image = |image: &str, copy: &str| format!("{PY311}COPY --from={image} {copy}\n");
    let (conda, wheel) =
        ("pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime", "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime");
    check(
        &[
            (of_stage(wheel, "/opt/conda /opt/conda"), "2.7.1 12.8"),
            (of_image(wheel, "/opt/conda /opt/conda"), "2.7.1 12.8"),
            // What commands of either stage put in its place or take away is not followed: a command of the stage, and conda.
            (
                format!(
                    "FROM {wheel} AS b\nRUN pip install torch==2.4.0\n{PY311}COPY --from=b /opt/conda /opt/conda\n"
                ),
                "? ?",
            ),
            (of_stage(conda, "/opt/conda /opt/conda"), "? ?"),
            (of_image(conda, "/opt/conda /opt/conda"), "? ?"),
            // An image that nobody listed, nothing of it, or another one behind it.
            (of_stage("registry.example/torch:1", "/opt/conda /opt/conda"), "-"),
            (of_stage(conda, "/etc/passwd /p"), "-"),
            (format!("{}RUN pip install torch==2.5.1\n", of_stage(conda, "/opt/conda /opt/conda")), "2.5.1 12.4"),
        ],
        "linux/amd64",
    );
}
