use super::*;
use crate::knowledge::Knowledge;
use crate::replay::loader;
use crate::replay::step_tests::{image_from_description, pool_hosts};

/// Description line that declares every part of the image as completely known.
const COMPLETE_LINE: &str = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";

/// Returns the description of an image with this CUDA runtime, native code, environment and files.
fn image_text(cuda: &str, sass: &str, env: &str, files: &str) -> String {
    let code = format!("[[gpu_code]]\nsass = [{sass}]\nptx = []\n");
    format!("cuda_runtime = \"{cuda}\"\n{COMPLETE_LINE}[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n{env}\n{files}\n{code}")
}

/// Description lines of a compat library.
const COMPAT_FILES: &str = "[files]\n\"/usr/local/cuda/compat/libcuda.so.550.54.15\" = {}\n";

/// Returns the descriptions of images that differ in what a replay reads.
fn image_texts() -> Vec<String> {
    let torch = |version: &str, more: &str| format!("{more}[packages.pip]\ntorch = \"{version}\"\n");
    vec![
        torch("2.6.0", ""),
        torch("2.7.0", "base = \"nvidia/cuda:12.8.1-runtime-ubuntu22.04\"\n"),
        torch("2.9.0", "base = \"nvidia/cuda:11.8.0-base-ubuntu22.04\"\n"),
        "base = \"nvcr.io/nvidia/pytorch:20.10-py3\"\n".to_owned(),
        "base = \"example.com/team/base:1\"\n[packages.pip]\ntorch = \"2.7.0+cu128\"\n".to_owned(),
        image_text("12.4", "\"sm_50\", \"sm_80\", \"sm_90\"", "", ""),
        image_text("12.4", "\"sm_75\"", "", ""),
        image_text("12.4", "\"sm_75\"", "NVIDIA_REQUIRE_CUDA = \"brand=tesla\"", ""),
        image_text("12.4", "\"sm_75\"", "NVIDIA_REQUIRE_ARCH = \"arch>=8.0\"", ""),
        image_text("12.4", "\"sm_80\"", "", COMPAT_FILES),
        image_text("12.4", "\"sm_80\"", "LD_LIBRARY_PATH = \"/usr/local/cuda/compat\"", COMPAT_FILES),
        image_text("12.4", "\"sm_80\"", "NVIDIA_DRIVER_CAPABILITIES = \"utility\"", ""),
    ]
}

/// Compares cached and separate replays on pools with several hosts, image by image and repeatedly.
#[test]
fn cached_replays_equal_separate_replays() {
    let knowledge = Knowledge::built_in();
    let images: Vec<ImageFacts> = image_texts().iter().map(|text| image_from_description(text)).collect();
    let many =
        "gpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\", \"NVIDIA GeForce RTX 3090\"]\n";
    for fields in [
        format!("{many}driver = \"525.60.13\""),
        format!("{many}driver = [\"470.182.03\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\""),
        format!("{many}driver = \"570.86.15\"\nlaunch = \"docker-cdi\""),
    ] {
        let hosts = pool_hosts(&fields);
        let (mut shared, mut replays) = (ReplayCache { wide: true, ..ReplayCache::default() }, 0);
        for image in images.iter().chain(&images) {
            for host in &hosts {
                let host = shared.host_in_selected_mode(image, host);
                for component in &image.components {
                    let one = Replay::new(image, component, host, knowledge);
                    replays += 1;
                    for whole in [true, false] {
                        let (end, separate) =
                            (shared.replay_with_cache(one, whole), ReplayEnd::without_cache(one, whole));
                        assert!(end.is_same(&separate), "{end:?}, and alone {separate:?}: {host:?}");
                    }
                }
            }
            shared = shared.reset_for_other_images();
        }
        assert!(shared.before.len() < replays * 3 / 4, "{fields}: {} of {replays}", shared.before.len());
    }
}

/// Everything that a replay reads up to libcuda distinguishes images; their GPU code does not.
#[test]
fn images_are_alike_only_if_everything_read_before_libcuda_is_equal() {
    let knowledge = Knowledge::built_in();
    let hosts = pool_hosts("gpu = \"T4\"\ndriver = \"525.60.13\"");
    let key = |text: &str| {
        let image = image_from_description(text);
        let component = image.components.first().expect("a component");
        loader_equivalence_key(Replay::new(&image, component, &hosts[0], knowledge))
    };
    let first = key(&image_text("12.4", "\"sm_75\"", "", ""));
    for (env, files) in [
        ("NVIDIA_REQUIRE_CUDA = \"cuda>=12.4\"", ""),
        ("NVIDIA_DISABLE_REQUIRE = \"1\"", ""),
        ("NVIDIA_DRIVER_CAPABILITIES = \"compute\"", ""),
        ("CUDA_VISIBLE_DEVICES = \"0\"", ""),
        ("LD_LIBRARY_PATH = \"/opt\"", ""),
        ("CUDA_VERSION = \"12.4\"", ""),
        ("", COMPAT_FILES),
        ("", "[files]\n\"/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03\" = {}\n"),
    ] {
        assert_ne!(key(&image_text("12.4", "\"sm_75\"", env, files)), first, "{env} {files}");
    }
    assert_eq!(key(&image_text("12.4", "\"sm_90\"", "", "")), first);
    // Nor does the CUDA that they are built with, but whether there is one.
    assert_eq!(key(&image_text("12.1", "\"sm_75\"", "", "")), first);
}

/// Where no unread note decides, a host that uses the compat library ends like one that does not.
#[test]
fn choice_of_library_matters_only_if_a_note_decides() {
    let knowledge = Knowledge::built_in();
    let unread = "base = \"nvidia/cuda:12.8.1-base-ubuntu22.04\"\n[packages.pip]\ntorch = \"2.7.0\"\n";
    let texts = image_texts().into_iter().chain([unread.to_owned()]);
    let (mut dependent, mut others) = (0, 0);
    for image in texts.map(|text| image_from_description(&text)) {
        for host in &pool_hosts("gpu = [\"T4\", \"B200\"]\ndriver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\n")
        {
            for component in &image.components {
                let one = Replay::new(&image, component, host, knowledge);
                let end = ReplayEnd::without_cache(one, true);
                let same = |other: &Host| ReplayEnd::without_cache(one.with_host(other), true).is_same(&end);
                let alike = host.with_and_without_compat().iter().all(same);
                let hangs = loader::depends_on_unread_note(one);
                dependent += usize::from(hangs);
                others += usize::from(!hangs);
                assert!(alike || hangs, "{host:?}");
            }
        }
    }
    assert!(dependent > 100 && others > dependent, "{dependent} and {others}");
}

#[test]
fn derived_hosts_have_separate_numbers() {
    let all =
        pool_hosts("gpu = [\"T4\", \"L4\", \"A100-SXM4-40GB\", \"NVIDIA H100 80GB HBM3\"]\ndriver = \"525.60.13\"");
    let numbers = |host: &Host| host.alike.expect("numbers");
    let mut seen = BTreeMap::new();
    for host in &all {
        let way = (host.mode, host.launch, host.toolkit_version, host.compat_selection);
        let other = *seen.entry(numbers(host).before_libcuda).or_insert(way);
        assert_eq!(other, way, "one number for two ways");
        for other in host.in_cdi.iter().map(|other| &**other).chain(host.with_and_without_compat()) {
            assert_ne!(numbers(other).before_libcuda, numbers(host).before_libcuda);
        }
        for other in host.with_and_without_compat() {
            // Of a variant of a variant nothing is known.
            assert!(other.with_and_without_compat().iter().all(|one| one.alike.is_none()));
        }
    }
    assert!(seen.len() < all.len() / 2, "{} of {}", seen.len(), all.len());
}
