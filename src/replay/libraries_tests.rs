//! Library steps: which libraries are missing, when, and how that is reported.

use super::*;
use crate::describe::ImageDescription;
use crate::fleet::GpuNameLookup;
use crate::infer::infer_image_facts;
use crate::knowledge::Knowledge;
use crate::replay::library_messages::{describe_library_step, missing_library_message, possible_fallback_note};
use crate::text::source::{SourceText, Sources};
use crate::{extract, fleet};

/// Returns the results of both library steps and the message, for a launch method.
fn library_results(env: &str, asks: &str, launch: &str) -> (StepResult, StepResult, String) {
    library_results_on(env, asks, &format!("launch = \"{launch}\"\ntoolkit = \"1.17.8\""))
}

/// Returns the results of both library steps and the message, on a pool.
fn library_results_on(env: &str, asks: &str, pool: &str) -> (StepResult, StepResult, String) {
    let text = format!(
        "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
         [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n\"/opt/libaway.so.1\" = {{}}\n[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
    );
    let description = ImageDescription::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let knowledge = Knowledge::built_in();
    let images =
        infer_image_facts(&extract::observe_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = format!("[[pool]]\nname = \"p\"\n{pool}\n");
    let text = SourceText::new("fleet.toml", text);
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let (image, host) = (&images[0], &hosts[0]);
    let replay = Replay::new(image, &image.components[0], host, knowledge);
    (libraries_step(replay).result, opened_later_step(replay).result, missing_library_message(replay))
}

/// Returns why a version of TensorFlow uses no GPU.
fn tensorflow_failure(version: &str, files: &str) -> Option<String> {
    let text = format!(
        "cuda_runtime = \"11.2\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
         [packages.pip]\ntensorflow = \"{version}\"\n[files]\n{files}\n"
    );
    let description = ImageDescription::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let knowledge = Knowledge::built_in();
    let images =
        infer_image_facts(&extract::observe_description(&description, None, None), "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", "[[pool]]\nname = \"p\"\nlaunch = \"docker-gpus\"\n");
    let source = Sources::default().add(text.clone());
    let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let image = &images[0];
    let component = image.components.iter().find(|component| component.name == "tensorflow").expect("a component");
    let replay = Replay::new(image, component, &hosts[0], knowledge);
    assert_eq!(possible_fallback_note(replay), None, "nothing is open here");
    match opened_later_step(replay).result {
        StepResult::Stops(failure) => {
            assert_eq!((failure.outcome(), failure.codes()), (Outcome::LibraryMissing, CudaErrorCodes::NONE));
            Some(missing_library_message(replay))
        }
        _ => None,
    }
}

#[test]
fn a_program_that_falls_back_misses_its_libraries() {
    let all = ["cublas.so.11", "cublasLt.so.11", "cudart.so.11.0", "cufft.so.10", "curand.so.10", "cusolver.so.11"];
    let mut files: Vec<String> = all.iter().map(|name| format!("\"/usr/lib64/lib{name}\" = {{}}")).collect();
    files.push("\"/usr/lib64/libcusparse.so.11\" = {}".to_owned());
    let without = tensorflow_failure("2.8.0", &files.join("\n"));
    assert_eq!(without.as_deref(), Some("tensorflow starts and uses no GPU, because it cannot open libcudnn.so.8"));
    files.push("\"/usr/lib64/libcudnn.so.8\" = {}".to_owned());
    assert_eq!(tensorflow_failure("2.8.0", &files.join("\n")), None, "all there");
    assert_eq!(tensorflow_failure("2.99.0", ""), None, "a release of which nothing is known");
}

/// Returns why TensorFlow in a Dockerfile uses no GPU, else the note that it may use none.
fn tensorflow_message(base: &str, wheel: &str) -> Option<String> {
    let text = format!("FROM nvidia/cuda:{base}\nRUN pip install {wheel}\n");
    let mut sources = Sources::default();
    let source = sources.add(SourceText::new("Dockerfile", text.clone()));
    let dockerfile = crate::dockerfile::Dockerfile::parse(&text);
    let options = crate::dockerfile::EvaluateOptions::new(Knowledge::built_in()).for_platform("linux/amd64");
    let seen = extract::observe_dockerfile(
        source,
        &dockerfile,
        &options,
        &crate::dockerfile::context::ContextFiles::default(),
    )
    .expect("a stage")
    .seen;
    let knowledge = Knowledge::built_in();
    let images = infer_image_facts(&seen, "linux/amd64", None, knowledge);
    let text = SourceText::new("fleet.toml", "[[pool]]\nname = \"p\"\nlaunch = \"docker-gpus\"\n");
    let fleet = fleet::read_fleet(sources.add(text.clone()), &text, &|_| GpuNameLookup::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let image = &images[0];
    let component = image.components.iter().find(|component| component.name == "tensorflow").expect("a component");
    let replay = Replay::new(image, component, &hosts[0], knowledge);
    if starts_without_gpu(replay) { Some(missing_library_message(replay)) } else { possible_fallback_note(replay) }
}

#[test]
fn a_library_that_nothing_includes_is_reported() {
    let lacks = |list: &str| {
        Some(format!("tensorflow uses no GPU without {list}, and nothing in the image is known to include it"))
    };
    // The libraries of all installed packages are known.
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
        // The newest release, and an unknown one.
        (eight, "tensorflow", certain("libcudnn.so.9")),
        (nine, "tensorflow", None),
        (eight, "tensorflow==$NOWHERE", None),
        (eight, "tensorflow==2.18.0 -r unread.txt", lacks("libcudnn.so.9")),
    ] {
        assert_eq!(tensorflow_message(base, wheel), expected, "{base} {wheel}");
    }
}

#[test]
fn linked_library_missing_stops_the_start_step() {
    let passes = StepResult::Passes(StartRoute::Native);
    let stops = StepResult::Stops(ReplayFailure::new(Outcome::LibraryMissing, CudaErrorCodes::NONE));
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
        let (needed, later, _) = library_results(env, asks, launch);
        assert_eq!((needed, later), expected, "{env} {asks} {launch}");
    }
}

#[test]
fn libraries_follow_the_granted_capabilities() {
    let gpus = "launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"";
    let narrow = format!("{gpus}\n[pool.host]\nsupported-driver-capabilities = \"compute,utility\"");
    let old = "launch = \"docker-gpus\"\ntoolkit = \"1.3.0\"";
    let enroot = "launch = \"enroot\"\ntoolkit = \"1.17.8\"\nenv = { NVIDIA_VISIBLE_DEVICES = \"all\" }";
    let nothing = "launch = \"nvidia-runtime\"\ntoolkit = \"1.17.8\"";
    for (capabilities, library, pool, there) in [
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
        let env = format!("NVIDIA_DRIVER_CAPABILITIES = \"{capabilities}\"");
        let (_, later, _) = library_results_on(&env, &format!("opens = [\"{library}\"]"), pool);
        let expected = if there { StepResult::Passes(StartRoute::Native) } else { StepResult::FailsLater };
        assert_eq!(later, expected, "{library} of `{capabilities}`: {pool}");
    }
}

#[test]
fn the_message_is_that_of_the_loader() {
    let (_, _, message) = library_results("", "needs = [\"libhere.so.1\", \"libgone.so.1\"]", "docker-gpus");
    assert_eq!(message, "libgone.so.1: cannot open shared object file: No such file or directory");
}

#[test]
fn only_missing_libraries_decide_and_are_explained() {
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
        let image = crate::replay::step_tests::image_from_description(&format!(
            "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n[env]\n{env}\n\
             [[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
        ));
        let hosts = crate::replay::step_tests::pool_hosts("launch = \"docker-gpus\"\ntoolkit = \"1.17.8\"");
        let replay = Replay::new(&image, &image.components[0], &hosts[0], Knowledge::built_in());
        let record = libraries_step(replay);
        assert!(matches!(record.result, StepResult::Stops(_)), "{asks}");
        assert_eq!(record.facts.iter().count(), facts, "{env} {asks}");
        let message = describe_library_step(replay, &record);
        assert!(message.ends_with(searched), "{message}");
    }
}

/// Returns the results of the devices, capabilities and libraries steps on a pool, and the text of the last.
fn step_results(fields: &str, head: &str, files: &str, asks: &str) -> ([String; 3], String) {
    let image = crate::replay::step_tests::image_from_description(&format!(
        "{head}cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n\
         [files]\n\"/usr/lib/libhere.so.1\" = {{}}\n{files}[[gpu_code]]\nsass = [\"sm_80\"]\n{asks}\n"
    ));
    let hosts = crate::replay::step_tests::pool_hosts(fields);
    let on = |step| crate::replay::step_tests::step_result_and_text(&image, &hosts[0], step);
    let found = [StartStep::Devices, StartStep::Capabilities, StartStep::Libraries].map(on);
    let text = found[2].1.clone();
    (found.map(|(word, _)| word), text)
}

/// The loader comes before the first call of CUDA, so that there is no code where it stops.
#[test]
fn a_program_linked_with_libcuda_stops_in_the_loader_without_it() {
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
    let (absent, here) = ("needs = [\"libgone.so.1\"]", "needs = [\"libhere.so.1\"]");
    let (baked, elsewhere) = ("\"/usr/lib64/libcuda.so.535.54.03\" = {}\n", "\"/opt/libcuda.so.535.54.03\" = {}\n");
    let missing = "library-missing";
    for (pool, files, asks, expected, says) in [
        (legacy, "", linked, ["n/a", "n/a", missing], "NVIDIA_VISIBLE_DEVICES is not set"),
        (jit, "", linked, ["n/a", "n/a", missing], "NVIDIA_VISIBLE_DEVICES is not set"),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"void\""), "", linked, ["n/a", "n/a", missing], "is `void`"),
        (jit, elsewhere, linked, ["n/a", "n/a", missing], "is not set"),
        (&env(gpus, utility), "", linked, ["passes", "passes", missing], "capability compute is not requested"),
        (gke, "", linked, ["passes", "n/a", missing], "LD_LIBRARY_PATH lacks"),
        // Another one that is missing comes before what CUDA would say.
        (legacy, "", absent, ["n/a", "n/a", missing], "libgone.so.1"),
        (&env(legacy, hidden), "", absent, ["passes", "passes", missing], "libgone.so.1"),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"none\""), "", absent, ["passes", "passes", missing], "libgone.so.1"),
        // It is there.
        (&env(legacy, all), "", linked, ["passes", "passes", "passes"], ""),
        (&env(jit, all), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(cdi, utility), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(gpus, "NVIDIA_DRIVER_CAPABILITIES = \"video\""), "", linked, ["passes", "passes", "passes"], ""),
        (&env(gke, "LD_LIBRARY_PATH = \"/usr/local/nvidia/lib64\""), "", linked, ["passes", "n/a", "passes"], ""),
        (&env(legacy, "NVIDIA_VISIBLE_DEVICES = \"none\""), "", linked, ["no-gpu 100", "passes", "passes"], ""),
        (&env(legacy, hidden), "", linked, ["no-gpu 100", "passes", "passes"], ""),
        (legacy, baked, linked, ["no-gpu 100", "n/a", "passes"], ""),
        // The program opens it, continues, and then requests a GPU.
        (legacy, "", opens, ["no-gpu 35", "n/a", "n/a"], ""),
        (jit, "", opens, ["no-gpu 35", "n/a", "n/a"], ""),
        (legacy, "", here, ["no-gpu 35", "n/a", "passes"], ""),
        (&env(gpus, utility), "", here, ["passes", "no-gpu 35", "passes"], ""),
    ] {
        let (found, text) = step_results(pool, "", files, asks);
        assert_eq!(found, expected, "{pool} {files} {asks}: {text}");
        assert!(text.contains(says), "{pool} {files} {asks}: {text}");
    }
    // Unknown is not missing.
    let unknown_variable = "env_unknown = [\"NVIDIA_VISIBLE_DEVICES\"]\n";
    assert_eq!(step_results(legacy, unknown_variable, "", linked).0, ["unknown", "passes", "not seen"]);
    assert_eq!(step_results(gke, "env_unknown = [\"LD_LIBRARY_PATH\"]\n", "", linked).0, ["passes", "n/a", "not seen"]);
}

#[test]
fn the_loader_reports_the_first_missing_library_in_file_order() {
    for (asks, first) in [
        ("needs = [\"libz.so.1\", \"liba.so.1\"]", "libz.so.1"),
        ("needs = [\"liba.so.1\", \"libz.so.1\"]", "liba.so.1"),
        ("needs = [\"libhere.so.1\", \"libz.so.1\", \"liba.so.1\", \"libz.so.1\"]", "libz.so.1"),
    ] {
        let (_, _, message) = library_results("", asks, "docker-gpus");
        assert!(message.starts_with(&format!("{first}: ")), "{asks}: {message}");
    }
}
