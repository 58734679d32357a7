//! Tables of commands and what they install.

use crate::dockerfile::{Dockerfile, EvaluateOptions};
use crate::install::effects::InstallEffects;
use crate::install::read_installs;
use crate::model::package::{IndexSelection, PackageVersion};
use crate::shell::run_commands;

fn command_effects(file: &str) -> Vec<InstallEffects> {
    let read = Dockerfile::parse(file)
        .evaluate(&EvaluateOptions::new(crate::knowledge::Knowledge::built_in()))
        .expect("a stage");
    read.runs
        .iter()
        .flat_map(|run| {
            run_commands(run)
                .into_iter()
                .map(|one| read_installs(&one, run, crate::knowledge::Knowledge::built_in()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// `name version variant` of every package.
fn installed_packages(run: &str) -> Vec<String> {
    let file = format!("FROM a\nARG CU=121\nENV TORCH=2.1.0\nRUN {run}");
    let line = |one: &crate::install::PackageInstall| {
        let version = match &one.requirement.version {
            PackageVersion::Exact(version) => format!("=={version}"),
            PackageVersion::Range(range) if range.is_any() => "-".to_owned(),
            PackageVersion::Range(range) => range.to_string(),
            PackageVersion::Unresolved(_) => "?".to_owned(),
        };
        let variant = one.variant.as_ref().map_or_else(String::new, |one| format!(" {} {:?}", one.tag, one.from));
        let extra = match &one.requirement.indexes {
            IndexSelection::DefaultAndExtra(tags) if one.variant.is_none() => format!(" ({})", tags.join(" ")),
            IndexSelection::Unknown(_) => " (?)".to_owned(),
            _ => String::new(),
        };
        format!("{} {version}{variant}{extra}", one.requirement.name)
    };
    command_effects(&file).iter().flat_map(|one| one.packages.iter().map(line).collect::<Vec<_>>()).collect()
}

#[test]
fn pip_commands() {
    let whl = "https://wheels.example.com/whl";
    for (run, expected) in [
        ("pip install torch==1.8.1+cu111 -f https://download.pytorch.org/whl/torch_stable.html".to_owned(), vec!["torch ==1.8.1+cu111 cu111 LocalVersion"]),
        (format!("pip3 install torch==2.1.0 --index-url {whl}/cu121"), vec!["torch ==2.1.0 cu121 IndexUrl"]),
        (format!("pip3.11 install -i {whl}/nightly/cu128 --pre torch"), vec!["torch - cu128 IndexUrl"]),
        (format!("pip install torch==2.1.0 --extra-index-url={whl}/cu118"), vec!["torch ==2.1.0 cu118 ExtraIndex"]),
        (format!("pip install torch numpy --extra-index-url {whl}/cu118"), vec!["torch - (cu118)", "numpy - (cu118)"]),
        (format!("python3 -m pip install \"torch==${{TORCH}}\" --index-url {whl}/cu${{CU}}"), vec!["torch ==2.1.0 cu121 IndexUrl"]),
        (format!("/opt/venv/bin/pip install {whl}/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl"), vec!["torch ==2.1.0+cu121 cu121 WheelUrl"]),
        (format!("pip install {whl}/cu101/torch-1.4.0-cp37-cp37m-linux_x86_64.whl"), vec!["torch ==1.4.0 cu101 WheelUrl"]),
        (format!("pip install 'torch @ {whl}/cu121/torch-2.1.0%2Bcu121-cp310-cp310-linux_x86_64.whl#sha256=00'"), vec!["torch ==2.1.0+cu121 cu121 WheelUrl"]),
        ("uv pip install torch==2.7.1 --torch-backend=cu128".to_owned(), vec!["torch ==2.7.1 cu128 TorchBackend"]),
        ("uv pip install torch --torch-backend=auto".to_owned(), vec!["torch - (?)"]),
        (format!("uv pip install torch --extra-index-url {whl}/cu118"), vec!["torch - cu118 ExtraIndex"]),
        (format!("uv pip install torch --index-strategy unsafe-best-match --extra-index-url {whl}/cu118"), vec!["torch - (cu118)"]),
        (format!("pip install torch==2.1.0 --index-url {whl}/cpu --extra-index-url {whl}/cu118"), vec!["torch ==2.1.0 cu118 ExtraIndex"]),
        ("pip install torch==1.8.1 -f https://download.pytorch.org/whl/torch_stable.html".to_owned(), vec!["torch ==1.8.1 (?)"]),
        ("pip install paddlepaddle-gpu==3.0.0 -i https://mirror.example/packages/stable/cu126/".to_owned(), vec!["paddlepaddle-gpu ==3.0.0 cu126 IndexUrl"]),
        ("pip install torch==2.6.0 paddlepaddle-gpu==3.0.0 --extra-index-url https://mirror.example/packages/stable/cu118".to_owned(), vec!["torch ==2.6.0", "paddlepaddle-gpu ==3.0.0 cu118 ExtraIndex"]),
        (format!("pip install torch==2.6.0 paddlepaddle-gpu==2.6.2 --extra-index-url {whl}/cu118"), vec!["torch ==2.6.0 cu118 ExtraIndex", "paddlepaddle-gpu ==2.6.2"]),
        ("pip install paddlepaddle-gpu==3.0.0 -i https://mirror.example/packages/stable/latest/cu126/".to_owned(), vec!["paddlepaddle-gpu ==3.0.0"]),
        ("pip install paddlepaddle-gpu==3.0.0 -i https://mirror.example/cu126/packages/stable".to_owned(), vec!["paddlepaddle-gpu ==3.0.0"]),
        (format!("pip install torch==1.10 -f {whl}/cu111/torch_stable.html"), vec!["torch ==1.10 cu111 FindLinks"]),
        (format!("pip install torch -f {whl}/cu111/torch_stable.html"), vec!["torch - (cu111)"]),
        (format!("pip install torch==1.10 -f {whl}/cu/torch_stable.html"), vec!["torch ==1.10 (?)"]),
        (format!("pip install --pre torch -f {whl}/nightly/cu113/torch_nightly.html"), vec!["torch - (?)"]),
        (format!("pip install --pre torch -f {whl}/nightly/torch_nightly.html"), vec!["torch - (?)"]),
        ("pip install torch -i https://mirror.example.com/simple".to_owned(), vec!["torch -"]),
        ("xargs -n 1 pip install torch==2.0.0".to_owned(), vec!["torch ==2.0.0"]),
        ("uv run pip install torch==2.0.0; time pip install a; env X=1 pip install b".to_owned(), vec!["torch ==2.0.0", "a -", "b -"]),
        ("uv add 'torch>=2.5'; poetry add torch@^2.1; pdm add torch==2.2.0".to_owned(), vec!["torch >=2.5", "torch >=2.1,<3", "torch ==2.2.0"]),
        ("pixi add pytorch=2.5".to_owned(), vec!["pytorch ==2.5"]),
        ("uv tool install torch; pipx install vllm==0.6.0; uvx --from a b c; uv tool run --with torch ruff".to_owned(), vec!["torch -", "vllm ==0.6.0", "a -", "torch -", "ruff -"]),
        ("pipx list; pipx ensurepath; pipx upgrade vllm; uv tool list; uv venv; uv lock; uvx; uvx --version".to_owned(), vec![]),
        ("pip install git+https://github.com/pytorch/pytorch@v2.5.0".to_owned(), vec!["torch ? (?)"]),
        ("pip install 'torch @ git+https://github.com/me/fork'".to_owned(), vec!["torch ? (?)"]),
        ("pip install -e git+https://github.com/me/x.git@main#egg=Xformers".to_owned(), vec!["xformers ? (?)"]),
        ("pip install git+https://github.com/me/x.git#egg=Xformers git+ssh://git@github.com/vllm-project/vllm.git".to_owned(), vec!["xformers ? (?)", "vllm ? (?)"]),
        ("pip install git+https://github.com/Dao-AILab/flash-attention.git".to_owned(), vec!["flash-attn ? (?)"]),
        (format!("pip install -i {whl}/cu118 git+https://github.com/pytorch/pytorch"), vec!["torch ? (?)"]),
        ("pip install git+https://github.com/me/pytorch git+https://github.com/pytorch/examples git+https://github.com/a/flask git+".to_owned(), vec![]),
        ("for p in torch==2.1.0 numpy; do pip install $p; done".to_owned(), vec!["torch ==2.1.0", "numpy -"]),
        ("add() { pip install \"$@\"; }; add torch==2.1.0 numpy".to_owned(), vec!["torch ==2.1.0", "numpy -"]),
        ("A=(torch==2.1.0 numpy); A+=(b); pip install \"${A[@]}\"".to_owned(), vec!["torch ==2.1.0", "numpy -", "b -"]),
        ("add() { pip install torch; }; pip install a".to_owned(), vec!["a -"]),
        ("wget https://download.pytorch.org/libtorch/cu121/libtorch-cxx11-abi-shared-with-deps-2.3.0%2Bcu121.zip".to_owned(), vec!["torch ==2.3.0+cu121 cu121 WheelUrl"]),
        ("curl -LO https://download.pytorch.org/libtorch/cu102/libtorch-shared-with-deps-1.9.0.zip".to_owned(), vec!["torch ==1.9.0 cu102 WheelUrl"]),
        ("curl https://download.pytorch.org/libtorch/nightly/cpu/libtorch-shared-with-deps-latest.zip".to_owned(), vec!["torch ? cpu WheelUrl"]),
        ("wget https://download.pytorch.org/libtorch/$X/libtorch-shared-with-deps-2.3.0%2B$X.zip".to_owned(), vec!["torch ? (?)"]),
        ("wget https://download.pytorch.org/libtorch/cpu/libtorch-macos-2.0.zip; echo https://h/libtorch-shared-2.0.zip; wget https://h/x.zip".to_owned(), vec![]),
        ("UV_TORCH_BACKEND=cpu uv pip install --system torch".to_owned(), vec!["torch - cpu TorchBackend"]),
        (format!("export PIP_INDEX_URL={whl}/cpu && sudo -H pip install torch"), vec!["torch - cpu IndexUrl"]),
        ("conda run -n x pip install 'Torch_Vision[a,b]>=0.1,<2; python_version>\"3\"'".to_owned(), vec!["torch-vision >=0.1,<2"]),
        ("pip install torch==$NOPE $ALSO".to_owned(), vec!["torch ?"]),
        ("pip install --no-cache-dir -U -t /x flash-attn --no-build-isolation".to_owned(), vec!["flash-attn -"]),
        (format!("pip install -f {whl}/torch-2.1.0+cu121.html torch-scatter"), vec!["torch-scatter - (cu121)"]),
        ("bash -c 'pip install a && pip install b'".to_owned(), vec!["a -", "b -"]),
        ("<<E\npip install a==1\nE".to_owned(), vec!["a ==1"]),
        ("[\"pip\", \"install\", \"a==1.0\"]".to_owned(), vec!["a ==1.0"]),
        ("echo pip install a; sed -i 's/pip install b//' x; pip download c; pip wheel d; pip uninstall -y e; pip install .".to_owned(), vec![]),
    ] {
        assert_eq!(installed_packages(&run), expected, "{run}");
    }
}

#[test]
fn conda_and_system_commands() {
    for (run, expected) in [
        (
            "conda install -y pytorch==2.1.2 torchvision pytorch-cuda=12.1 -c pytorch -c nvidia",
            vec!["pytorch ==2.1.2", "torchvision -", "pytorch-cuda ==12.1"],
        ),
        (
            "mamba create -n x python=3.10 cudatoolkit=11.3 cpuonly",
            vec!["python ==3.10", "cudatoolkit ==11.3", "cpuonly -"],
        ),
        ("conda install pytorch=2.5.1=cuda126_generic_py310_h0", vec!["pytorch ==2.5.1 cu126 LocalVersion"]),
        ("conda install 'pytorch=2.5.1=cuda120*'", vec!["pytorch ==2.5.1 cu120 LocalVersion"]),
        ("conda install 'pytorch=2.5.1=*cuda12.1*'", vec!["pytorch ==2.5.1 cu121 LocalVersion"]),
        ("conda install 'pytorch=2.5.1=cpu*'", vec!["pytorch ==2.5.1 cpu LocalVersion"]),
        ("conda install 'pytorch=2.5.1=*cuda*' 'x=1=cuda12*'", vec!["pytorch ==2.5.1", "x ==1"]),
        (
            "apt-get update && apt-get install -y --no-install-recommends libcudnn8=8.9.0.131-1+cuda11.8 cuda-compat-12-4",
            vec!["libcudnn8 ==8.9.0.131-1+cuda11.8", "cuda-compat-12-4 -"],
        ),
        ("yum -y install cuda-toolkit-12-4 libnccl-$V", vec!["cuda-toolkit-12-4 -", "libnccl-$V ?"]),
        ("apt-get install -y libnccl2=${V}", vec!["libnccl2 ?"]),
        ("apt-get install -y --download-only cuda-toolkit-12-4", vec![]),
        ("apt-get -yd install cuda-toolkit-12-4", vec![]),
        ("apt install -s cuda-toolkit-12-4", vec![]),
        ("dnf install -y --downloadonly cuda-toolkit-12-4", vec![]),
        ("dnf install -y -d1 cuda-toolkit-12-4", vec!["cuda-toolkit-12-4 -"]),
        ("apt-get install -qqy --no-install-recommends cuda-toolkit-12-4", vec!["cuda-toolkit-12-4 -"]),
        ("apt-get purge -y cuda-compat-12-4", vec![]),
    ] {
        assert_eq!(installed_packages(run), expected, "{run}");
    }
    let purge = command_effects(
        "FROM a\nRUN apt-get purge -y cuda-compat-12-4 && pip uninstall -y torch && pip install -r req.txt -c c.txt",
    );
    assert_eq!(purge[0].removed[0].1, "cuda-compat-12-4");
    assert_eq!(purge[1].removed[0].1, "torch");
    let files: Vec<_> = purge[2].files.iter().map(|file| (file.path.known_text(), file.constraint)).collect();
    assert_eq!(files, [(Some("req.txt"), false), (Some("c.txt"), true)]);
}

#[test]
fn system_package_commands() {
    for (run, expected) in [
        ("dnf install -y nvidia-driver-cuda-libs-550.54.14", vec!["nvidia-driver-cuda-libs ==550.54.14"]),
        ("yum -y install cuda-compat-12-4-550.54.14-1.x86_64", vec!["cuda-compat-12-4 ==550.54.14-1"]),
        ("sudo microdnf install cuda-cudart-11-8-11.8.89", vec!["cuda-cudart-11-8 ==11.8.89"]),
        ("dnf --enablerepo cuda -y install cuda-drivers", vec!["cuda-drivers -"]),
        ("zypper --non-interactive in nvidia-compute-G06=550.54.14", vec!["nvidia-compute-G06 ==550.54.14"]),
        ("zypper -n install --from cuda cuda-toolkit-12-4", vec!["cuda-toolkit-12-4 -"]),
        ("dnf -y module install nvidia-driver:550-dkms", vec!["nvidia-driver:550-dkms -"]),
        ("dnf module install -y nvidia-driver:latest/default", vec!["nvidia-driver:latest -"]),
        ("dnf install -y @nvidia-driver:550", vec!["nvidia-driver:550 -"]),
        (
            "apt-get install -y libcuda1/bookworm libnvidia-ml1:amd64=550.54.14-1",
            vec!["libcuda1 -", "libnvidia-ml1 ==550.54.14-1"],
        ),
        ("apt-get install -y libcuinj64-11.5/jammy", vec!["libcuinj64-11.5 -"]),
        (
            "apt-get install -y ./libnvidia-compute-535_535.183.01-0ubuntu1_amd64.deb",
            vec!["libnvidia-compute-535 ==535.183.01-0ubuntu1"],
        ),
        ("dpkg --force-all -i /tmp/libcuda1_550.54.14-1_amd64.deb", vec!["libcuda1 ==550.54.14-1"]),
        ("rpm -Uvh --nodeps cuda-compat-12-4-550.54.14-1.x86_64.rpm", vec!["cuda-compat-12-4 ==550.54.14-1"]),
        ("dnf install -y https://a.b/c/cuda-cudart-11-8-11.8.89-1.x86_64.rpm", vec!["cuda-cudart-11-8 ==11.8.89-1"]),
        ("apt-get install -y libnvidia-compute-$NOPE", vec!["libnvidia-compute-$NOPE ?"]),
        // These install nothing, or nothing that is reported.
        ("dnf -y module enable nvidia-driver:550", vec![]),
        ("dnf -y module install nvidia-driver:550/src", vec![]),
        ("dnf -y module reset nvidia-driver && dnf info cuda-drivers", vec![]),
        ("rpm -qip cuda-compat-12-4-550.54.14-1.x86_64.rpm", vec![]),
        ("rpm -e cuda-compat-12-4", vec![]),
        ("rpm --import https://a.b/key.rpm", vec![]),
        ("rpm -i --test cuda-compat-12-4-550.54.14-1.x86_64.rpm", vec![]),
        ("rpm --root /other -i cuda-compat-12-4-550.54.14-1.x86_64.rpm", vec![]),
        ("dpkg -x libcuda1_550.54.14-1_amd64.deb /opt", vec![]),
        ("dpkg -l libcuda1", vec![]),
        ("dpkg --add-architecture i386", vec![]),
        ("dpkg --purge libcuda1", vec![]),
        ("apt-get install -y ./nvidia.deb ./cuda-keyring.deb $NOPE curl-$NOPE", vec![]),
        ("zypper rm nvidia-compute-G06; zypper ref", vec![]),
    ] {
        assert_eq!(installed_packages(run), expected, "{run}");
    }
    let files =
        command_effects("FROM a\nRUN dpkg -i /tmp/nvidia.deb cuda-keyring.deb x.deb libcuda1_550.54.14-1_amd64.deb");
    let files: Vec<_> = files[0].files.iter().map(|file| file.path.known_text()).collect();
    assert_eq!(files, [Some("/tmp/nvidia.deb")]);
    for (run, expected) in [
        ("rpm -e --nodeps cuda-compat-12-4", "cuda-compat-12-4"),
        ("dpkg --purge libcuda1", "libcuda1"),
        ("dnf remove -y cuda-compat-12-4-550.54.14-1", "cuda-compat-12-4"),
        ("zypper rm nvidia-compute-G06", "nvidia-compute-G06"),
    ] {
        let found = command_effects(&format!("FROM a\nRUN {run}"));
        assert_eq!(found[0].removed[0].1, expected, "{run}");
    }
}

#[test]
fn driver_installer_commands() {
    let file = "cuda_11.7.1_515.65.01_linux.run";
    let both = vec!["cuda_11.7.1_515.65.01_linux.run ==515.65.01", "cuda-toolkit-11-7 ==11.7.1"];
    for (run, expected) in [
        (format!("sh {file} --silent"), both.clone()),
        (format!("sh {file} --silent --driver --toolkit --override"), both.clone()),
        (format!("bash /tmp/{file} -silent -driver"), both[..1].to_vec()),
        (format!("./{file} --silent --toolkit --toolkitpath=/opt/cuda"), both[1..].to_vec()),
        (format!("sudo ./{file} --silent --samples"), vec![]),
        (format!("sh {file} --extract=/tmp/x"), vec![]),
        (format!("sh {file} --silent --toolkit --help"), vec![]),
        (format!("./{file} --uninstall"), vec![]),
        (format!("sh {file} --silent --driver-note"), both),
        ("sh cuda_10.0.130_410.48_linux --silent --driver".to_owned(), vec!["cuda_10.0.130_410.48_linux ==410.48"]),
        ("sh cuda_8.0.61_375.26_linux-run --silent --toolkit".to_owned(), vec!["cuda-toolkit-8-0 ==8.0.61"]),
        ("sh cuda_12.5.0_555.42.02_linux_sbsa.run --silent --toolkit".to_owned(), vec!["cuda-toolkit-12-5 ==12.5.0"]),
        ("sh cuda_7.5.18_linux.run --silent --driver".to_owned(), vec!["cuda_7.5.18_linux.run -"]),
        // A patch of the toolkit, another system, and what only looks so.
        ("sh cuda_9.0.176.1_linux-run --silent --accept-eula".to_owned(), vec![]),
        ("sh cuda_11.7.1_516.94_windows.exe".to_owned(), vec![]),
        ("sh cuda_11.sh; sh cuda_.run; sh cuda_1.2.3; sh cuda_samples_linux.run".to_owned(), vec![]),
        (format!("echo {file}; tar xf {file}; chmod +x {file}; rm {file}; mv {file} x"), vec![]),
        ("ubuntu-drivers autoinstall; sudo ubuntu-drivers install --gpgpu nvidia:535-server".to_owned(), vec!["ubuntu-drivers autoinstall -", "ubuntu-drivers install -"]),
        ("ubuntu-drivers devices; ubuntu-drivers list; ubuntu-drivers; echo ubuntu-drivers install".to_owned(), vec![]),
        ("sh https://ollama.com/install.sh; sh https://www.ollama.com/install.sh?x=1".to_owned(), vec!["ollama.com/install.sh -", "ollama.com/install.sh -"]),
        ("sh install.sh; sh /ollama.com/install.sh; sh https://example.com/install.sh; sh https://ollama.com/x.sh; curl https://ollama.com/install.sh".to_owned(), vec![]),
    ] {
        assert_eq!(installed_packages(&run), expected, "{run}");
    }
}
