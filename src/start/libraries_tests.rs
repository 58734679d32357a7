//! Libraries: what is missing, when, and what is said of it.

use super::*;
use crate::describe::Description;
use crate::extract;
use crate::fleet;
use crate::fleet::GpuName;
use crate::infer::infer;
use crate::knowledge::Knowledge;
use crate::source::SourceText;
use crate::source::Sources;

/// What both steps find, and what the first says.
fn found(env: &str, asks: &str, launch: &str) -> (StepResult, StepResult, String) {
    on(env, asks, &format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\""))
}

/// The same on a pool.
fn on(env: &str, asks: &str, pool: &str) -> (StepResult, StepResult, String) {
    let text = format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
         [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n\"/opt/libaway.so.1\" = {{}}\n[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
    );
    let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let knowledge = Knowledge::built_in();
    let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = format!("[[pool]]\nname = \"p\"\n{pool}\n");
    let text = SourceText::new("fleet.toml", text);
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let (image, host) = (&images[0], &hosts[0]);
    let replay = Replay::of(image, &image.components[0], host, knowledge);
    (needed(replay).result, opened_later(replay).result, message(replay))
}

/// What stops one version of TensorFlow from using a GPU.
fn missed_by(version: &str, files: &str) -> Option<String> {
    let text = format!(
        "cuda_runtime = \"11.2\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
         [packages.pip]\ntensorflow = \"{version}\"\n[files]\n{files}\n"
    );
    let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let knowledge = Knowledge::built_in();
    let images = infer(&extract::of_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", "[[pool]]\nname = \"p\"\nlaunch = \"docker-gpus\"\n");
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let image = &images[0];
    let component = image.components.iter().find(|component| component.name == "tensorflow").expect("a component");
    let replay = Replay::of(image, component, &hosts[0], knowledge);
    assert_eq!(note(replay), None, "nothing is open here");
    match opened_later(replay).result {
        StepResult::Stops(wall) => {
            assert_eq!((wall.outcome(), wall.codes()), (Outcome::LibraryMissing, Codes::NONE));
            Some(message(replay))
        }
        _ => None,
    }
}

#[test]
fn a_program_that_falls_back_misses_its_libraries() {
    let all = ["cublas.so.11", "cublasLt.so.11", "cudart.so.11.0", "cufft.so.10", "curand.so.10", "cusolver.so.11"];
    let mut files: Vec<String> = all.iter().map(|name| format!("\"/usr/lib64/lib{name}\" = {{}}")).collect();
    files.push("\"/usr/lib64/libcusparse.so.11\" = {}".to_owned());
    let without = missed_by("2.8.0", &files.join("\n"));
    assert_eq!(without.as_deref(), Some("tensorflow starts and uses no GPU, because it cannot open libcudnn.so.8"));
    files.push("\"/usr/lib64/libcudnn.so.8\" = {}".to_owned());
    assert_eq!(missed_by("2.8.0", &files.join("\n")), None, "all there");
    assert_eq!(missed_by("2.99.0", ""), None, "a release of which nothing is known");
}

/// What is told of a Dockerfile's TensorFlow: what certainly keeps it from the GPU, else a note.
fn told_of(base: &str, wheel: &str) -> Option<String> {
    let text = format!("FROM nvidia/cuda:{base}\nRUN pip install {wheel}\n");
    let mut sources = Sources::default();
    let source = sources.add(SourceText::new("Dockerfile", text.clone()));
    let dockerfile = crate::dockerfile::Dockerfile::parse(&text);
    let options = crate::dockerfile::EvaluateOptions::new(Knowledge::built_in()).on("linux/amd64");
    let seen =
        extract::of_dockerfile(source, &dockerfile, &options, &crate::context::Files::default()).expect("a stage").seen;
    let knowledge = Knowledge::built_in();
    let images = infer(&seen, "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", "[[pool]]\nname = \"p\"\nlaunch = \"docker-gpus\"\n");
    let fleet = fleet::read(sources.add(text.clone()), &text, &|_| GpuName::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let image = &images[0];
    let component = image.components.iter().find(|component| component.name == "tensorflow").expect("a component");
    let replay = Replay::of(image, component, &hosts[0], knowledge);
    if goes_without(replay) { Some(message(replay)) } else { note(replay) }
}

#[test]
fn a_library_that_nothing_brings_is_told() {
    let lacks = |list: &str| {
        Some(format!("tensorflow uses no GPU without {list}, and nothing in the image is known to include it"))
    };
    // Nothing is installed of which it is not known what it brings.
    let certain = |list: &str| Some(format!("tensorflow starts and uses no GPU, because it cannot open {list}"));
    let (eight, nine) = ("12.2.2-cudnn8-runtime-ubuntu22.04", "12.3.2-cudnn9-runtime-ubuntu22.04");
    for (base, wheel, expected) in [
        (eight, "tensorflow==2.18.0", certain("libcudnn.so.9")),
        (nine, "tensorflow==2.17.1", certain("libcudnn.so.8")),
        ("12.6.3-cudnn-runtime-ubuntu24.04", "tensorflow==2.18.1", None),
        ("12.6.3-cudnn-runtime-ubuntu24.04", "tensorflow==2.17.1", certain("libcudnn.so.8")),
        (eight, "tensorflow==2.17.1", None),
        (nine, "tensorflow==2.18.0", None),
        (eight, "tensorflow[and-cuda]==2.18.0", None),
        (eight, "tensorflow==2.18.0 nvidia-cudnn-cu12==9.3.0.75", None),
        (eight, "tensorflow==2.18.0 nvidia-cudnn-cu12==8.9.7.29", certain("libcudnn.so.9")),
        ("11.8.0-cudnn8-runtime-ubuntu20.04", "tensorflow==2.4.1", certain("libcusolver.so.10")),
        ("11.1.1-cudnn8-runtime-ubuntu20.04", "tensorflow==2.4.1", certain("libcusolver.so.10")),
        ("11.0.3-cudnn8-runtime-ubuntu20.04", "tensorflow==2.4.1", None),
        ("11.0.3-cudnn8-runtime-ubuntu20.04", "tensorflow==2.8.0", certain("libcusolver.so.11")),
        ("11.8.0-cudnn8-runtime-ubuntu20.04", "tensorflow==2.8.0", None),
        // The newest release, and one that cannot be told.
        (eight, "tensorflow", certain("libcudnn.so.9")),
        (nine, "tensorflow", None),
        (eight, "tensorflow==$NOWHERE", None),
        (eight, "tensorflow==2.18.0 -r unread.txt", lacks("libcudnn.so.9")),
    ] {
        assert_eq!(told_of(base, wheel), expected, "{base} {wheel}");
    }
}

#[test]
fn what_is_missing_stops_at_the_start_and_not_later() {
    let passes = StepResult::Passes(Route::Native);
    let stops = StepResult::Stops(Wall::new(Outcome::LibraryMissing, Codes::NONE));
    let none = StepResult::NotApplicable;
    let (few, all) = ("NVIDIA_DRIVER_CAPABILITIES = \"compute,utility\"", "NVIDIA_DRIVER_CAPABILITIES = \"all\"");
    let old = "CUDA_VERSION = \"8.0.61\"";
    for (env, asks, launch, expected) in [
        ("", "", "docker-gpus", (none, none)),
        ("", "needs = [\"libhere.so.1\"]", "docker-gpus", (passes, none)),
        ("", "needs = [\"libaway.so.1\"]", "docker-gpus", (StepResult::NotSeen, none)),
        ("", "needs = [\"libgone.so.1\", \"libaway.so.1\"]", "docker-gpus", (stops, none)),
        ("", "opens = [\"libgone.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
        ("", "opens = [\"libaway.so.1\"]", "docker-gpus", (none, StepResult::NotSeen)),
        ("", "opens = [\"libnvcuvid.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
        (few, "opens = [\"libnvcuvid.so.1\"]", "docker-gpus", (none, StepResult::FailsLater)),
        (few, "opens = [\"libnvcuvid.so.1\"]", "docker-cdi", (none, passes)),
        (few, "needs = [\"libcuda.so.1\"]", "docker-gpus", (passes, none)),
        (few, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (stops, none)),
        (all, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (passes, none)),
        (old, "needs = [\"libnvcuvid.so.1\"]", "docker-gpus", (passes, none)),
    ] {
        let (needed, later, _) = found(env, asks, launch);
        assert_eq!((needed, later), expected, "{env} {asks} {launch}");
    }
}

#[test]
fn the_same_capabilities_are_given_as_in_the_step_before() {
    let gpus = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
    let narrow = format!("{gpus}\n[pool.host]\nsupported-driver-capabilities = \"compute,utility\"");
    let old = "launch = \"docker-gpus\"\ntoolkit = \"1.3.0\"";
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let nothing = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
    for (asked, library, pool, there) in [
        ("video,utility", "libcuda.so.1", gpus, true),
        ("video,utility", "libnvidia-ptxjitcompiler.so.1", gpus, true),
        ("display", "libGLX_nvidia.so.0", gpus, true),
        ("compute,utility", "libnvidia-encode.so.1", gpus, false),
        ("graphics", "libcuda.so.1", gpus, false),
        ("display", "libcuda.so.1", gpus, false),
        ("utility", "libcuda.so.1", gpus, false),
        ("all", "libnvcuvid.so.1", narrow.as_str(), false),
        ("all", "libcuda.so.1", narrow.as_str(), true),
        ("", "libcuda.so.1", old, false),
        ("", "libnvidia-ml.so.1", old, true),
        ("", "libcuda.so.1", enroot, false),
        ("all", "libnvidia-ngx.so.1", enroot, false),
        ("all", "libnvcuvid.so.1", enroot, true),
        ("all", "libcuda.so.1", nothing, false),
    ] {
        let env = format!("NVIDIA_DRIVER_CAPABILITIES = \"{asked}\"");
        let (_, later, _) = on(&env, &format!("opens = [\"{library}\"]"), pool);
        let expected = if there { StepResult::Passes(Route::Native) } else { StepResult::FailsLater };
        assert_eq!(later, expected, "{library} of `{asked}`: {pool}");
    }
}

#[test]
fn the_message_is_the_loaders_own() {
    let (_, _, message) = found("", "needs = [\"libhere.so.1\", \"libgone.so.1\"]", "docker-gpus");
    assert_eq!(message, "libgone.so.1: cannot open shared object file: No such file or directory");
}

#[test]
fn only_what_is_missing_decides_and_says_what_was_searched() {
    let few = "NVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    for (env, asks, facts, searched) in [
        (few, "needs = [\"libgone.so.1\"]", 1, "no file, package or base of the image includes it"),
        ("", "needs = [\"libcuda.so.1\", \"libgone.so.1\"]", 1, "no file, package or base of the image includes it"),
        (few, "needs = [\"libcuda.so.1\"]", 4, "the driver capability compute is not requested"),
        (
            few,
            "needs = [\"libcuda.so.1\", \"libgone.so.1\"]",
            4,
            "includes it; the driver capability compute is not requested",
        ),
    ] {
        let image = crate::start::step_tests::image(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
        ));
        let hosts = crate::start::step_tests::hosts("launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"");
        let replay = Replay::of(&image, &image.components[0], &hosts[0], Knowledge::built_in());
        let record = needed(replay);
        assert!(matches!(record.result, StepResult::Stops(_)), "{asks}");
        assert_eq!(record.facts.iter().count(), facts, "{env} {asks}");
        let said = words(replay, &record);
        assert!(said.ends_with(searched), "{said}");
    }
}

/// What the steps find on a pool of an image that asks for libraries: devices, capabilities, libraries; and what is said.
fn steps(fields: &str, head: &str, files: &str, asks: &str) -> ([String; 3], String) {
    let image = crate::start::step_tests::image(&format!(
        "{head}cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
         [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n{files}[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
    ));
    let hosts = crate::start::step_tests::hosts(fields);
    let on = |step| crate::start::step_tests::step(&image, &hosts[0], step);
    let found = [Step::Devices, Step::Capabilities, Step::Libraries].map(on);
    let said = found[2].1.clone();
    (found.map(|(word, _)| word), said)
}

/// The loader comes before the first call of CUDA, so that there is no code where it stops.
#[test]
fn a_program_that_is_linked_with_libcuda_ends_in_the_loader_where_none_comes_in() {
    let (legacy, jit) =
        ("launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"\n", "launch = \"nvidia-runtime\"\ntoolkit = \"1.18.2\"\n");
    let (gpus, gke, cdi) = (
        "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"\n",
        "launch = \"gke\"\n",
        "launch = \"docker-cdi\"\ntoolkit = \"1.18.2\"\n",
    );
    let env = |pool: &str, env: &str| format!("{pool}env = {{ {env} }}\n");
    let all = "NVIDIA_VISIBLE_DEVICES = \"all\"";
    let hidden = "NVIDIA_VISIBLE_DEVICES = \"all\", CUDA_VISIBLE_DEVICES = \"\"";
    let utility = "NVIDIA_DRIVER_CAPABILITIES = \"utility\"";
    let (linked, opens) = ("needs = [\"libcuda.so.1\"]", "opens = [\"libcuda.so.1\"]");
    let (gone, here) = ("needs = [\"libgone.so.1\"]", "needs = [\"libhere.so.1\"]");
    let (baked, beside) = ("\"/usr/lib64/libcuda.so.535.54.03\" = {}\n", "\"/opt/libcuda.so.535.54.03\" = {}\n");
    let missing = "library-missing";
    for (pool, files, asks, expected, says) in [
        (legacy, "", linked, ["n/a", "n/a", missing], "NVIDIA_VISIBLE_DEVICES is not set"),
        (jit, "", linked, ["n/a", "n/a", missing], "NVIDIA_VISIBLE_DEVICES is not set"),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"void\""), "", linked, ["n/a", "n/a", missing], "is `void`"),
        (jit, beside, linked, ["n/a", "n/a", missing], "is not set"),
        (&env(gpus, utility), "", linked, ["passes", "passes", missing], "capability compute is not requested"),
        (gke, "", linked, ["passes", "n/a", missing], "LD_LIBRARY_PATH lacks"),
        // Another one that is missing comes before what CUDA would say.
        (legacy, "", gone, ["n/a", "n/a", missing], "libgone.so.1"),
        (&env(legacy, hidden), "", gone, ["passes", "passes", missing], "libgone.so.1"),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"none\""), "", gone, ["passes", "passes", missing], "libgone.so.1"),
        // It is there.
        (&env(legacy, all), "", linked, ["passes", "passes", "passes"], ""),
        (&env(jit, all), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(cdi, utility), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(gpus, "NVIDIA_DRIVER_CAPABILITIES = \"video\""), "", linked, ["passes", "passes", "passes"], ""),
        (&env(gke, "LD_LIBRARY_PATH = \"/usr/local/nvidia/lib64\""), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"none\""), "", linked, ["no-gpu 100", "passes", "passes"], ""),
        (&env(legacy, hidden), "", linked, ["no-gpu 100", "passes", "passes"], ""),
        (legacy, baked, linked, ["no-gpu 100", "n/a", "passes"], ""),
        // It is opened by the program, which goes on and asks.
        (legacy, "", opens, ["no-gpu 35", "n/a", "n/a"], ""),
        (jit, "", opens, ["no-gpu 35", "n/a", "n/a"], ""),
        (legacy, "", here, ["no-gpu 35", "n/a", "passes"], ""),
        (&env(gpus, utility), "", here, ["passes", "no-gpu 35", "passes"], ""),
    ] {
        let (found, said) = steps(pool, "", files, asks);
        assert_eq!(found, expected, "{pool} {files} {asks}: {said}");
        assert!(said.contains(says), "{pool} {files} {asks}: {said}");
    }
    // What cannot be told is not missing.
    let untold = "env_unknown = [\"NVIDIA_VISIBLE_DEVICES\"]\n";
    assert_eq!(steps(legacy, untold, "", linked).0, ["unknown", "passes", "not seen"]);
    assert_eq!(steps(gke, "env_unknown = [\"LD_LIBRARY_PATH\"]\n", "", linked).0, ["passes", "n/a", "not seen"]);
}

#[test]
fn the_loader_names_the_first_that_it_misses_in_the_order_of_the_file() {
    for (asks, first) in [
        ("needs = [\"libz.so.1\", \"liba.so.1\"]", "libz.so.1"),
        ("needs = [\"liba.so.1\", \"libz.so.1\"]", "liba.so.1"),
        ("needs = [\"libhere.so.1\", \"libz.so.1\", \"liba.so.1\", \"libz.so.1\"]", "libz.so.1"),
    ] {
        let (_, _, message) = found("", asks, "docker-gpus");
        assert!(message.starts_with(&format!("{first}: ")), "{asks}: {message}");
    }
}
