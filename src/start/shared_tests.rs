use super::*;
use crate::knowledge::Knowledge;
use crate::start::loader;
use crate::start::step_tests::hosts;
use crate::start::step_tests::image;

const COMPLETE: &str = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";

fn own(cuda: &str, sass: &str, env: &str, files: &str) -> String {
    let code = format!("[[gpu_code]]\nsass = [{sass}]\nptx = []\n");
    format!("cuda_runtime = \"{cuda}\"\n{COMPLETE}[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n{env}\n{files}\n{code}")
}

const COMPAT: &str = "[files]\n\"/usr/local/cuda/compat/libcuda.so.550.54.15\" = {}\n";

fn texts() -> Vec<String> {
    let torch = |version: &str, more: &str| format!("{more}[packages.pip]\ntorch = \"{version}\"\n");
    vec![
        torch("2.6.0", ""),
        torch("2.7.0", "base = \"nvidia/cuda:12.8.1-runtime-ubuntu22.04\"\n"),
        torch("2.9.0", "base = \"nvidia/cuda:11.8.0-base-ubuntu22.04\"\n"),
        "base = \"nvcr.io/nvidia/pytorch:20.10-py3\"\n".to_owned(),
        "base = \"example.com/team/base:1\"\n[packages.pip]\ntorch = \"2.7.0+cu128\"\n".to_owned(),
        own("12.4", "\"sm_50\", \"sm_80\", \"sm_90\"", "", ""),
        own("12.4", "\"sm_75\"", "", ""),
        own("12.4", "\"sm_75\"", "NVIDIA_REQUIRE_CUDA = \"brand=tesla\"", ""),
        own("12.4", "\"sm_75\"", "NVIDIA_REQUIRE_ARCH = \"arch>=8.0\"", ""),
        own("12.4", "\"sm_80\"", "", COMPAT),
        own("12.4", "\"sm_80\"", "LD_LIBRARY_PATH = \"/usr/local/cuda/compat\"", COMPAT),
        own("12.4", "\"sm_80\"", "NVIDIA_DRIVER_CAPABILITIES = \"utility\"", ""),
    ]
}

/// On open pools, image by image and over again, with what was kept of the images before.
#[test]
fn what_is_shared_is_what_each_host_says_by_itself() {
    let knowledge = Knowledge::built_in();
    let images: Vec<ImageFacts> = texts().iter().map(|text| image(text)).collect();
    let many =
        "gpu = [\"T4\", \"L4\", \"B200\", \"NVIDIA H100 80GB HBM3\", \"Tesla P100\", \"NVIDIA GeForce RTX 3090\"]\n";
    for fields in [
        format!("{many}driver = \"525.60.13\""),
        format!("{many}driver = [\"470.182.03\", \"580.95.05\"]\nlaunch = \"kubernetes\"\ntoolkit = \"1.17.8\""),
        format!("{many}driver = \"570.86.15\"\nlaunch = \"docker-cdi\""),
    ] {
        let hosts = hosts(&fields);
        let (mut shared, mut asked) = (Shared { wide: true, ..Shared::default() }, 0);
        for image in images.iter().chain(&images) {
            for host in &hosts {
                let host = shared.host_for(image, host);
                for component in &image.components {
                    let one = Replay::of(image, component, host, knowledge);
                    asked += 1;
                    for whole in [true, false] {
                        let (end, alone) = (shared.ended(one, whole), End::alone(one, whole));
                        assert!(end.is(&alone), "{end:?}, and alone {alone:?}: {host:?}");
                    }
                }
            }
            shared = shared.for_others();
        }
        assert!(shared.before.len() < asked * 3 / 4, "{fields}: {} of {asked}", shared.before.len());
    }
}

/// All that a start-up looks at before it has a libcuda tells images apart; the code that they hold does not.
#[test]
fn images_are_alike_in_nothing_less_than_what_is_looked_at() {
    let knowledge = Knowledge::built_in();
    let hosts = hosts("gpu = \"T4\"\ndriver = \"525.60.13\"");
    let told = |text: &str| {
        let image = image(text);
        let component = image.components.first().expect("a component");
        likeness(Replay::of(&image, component, &hosts[0], knowledge))
    };
    let first = told(&own("12.4", "\"sm_75\"", "", ""));
    for (env, files) in [
        ("NVIDIA_REQUIRE_CUDA = \"cuda>=12.4\"", ""),
        ("NVIDIA_DISABLE_REQUIRE = \"1\"", ""),
        ("NVIDIA_DRIVER_CAPABILITIES = \"compute\"", ""),
        ("CUDA_VISIBLE_DEVICES = \"0\"", ""),
        ("LD_LIBRARY_PATH = \"/opt\"", ""),
        ("CUDA_VERSION = \"12.4\"", ""),
        ("", COMPAT),
        ("", "[files]\n\"/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03\" = {}\n"),
    ] {
        assert_ne!(told(&own("12.4", "\"sm_75\"", env, files)), first, "{env} {files}");
    }
    assert_eq!(told(&own("12.4", "\"sm_90\"", "", "")), first);
    // Nor does the CUDA that they are built with, but whether there is one.
    assert_eq!(told(&own("12.1", "\"sm_75\"", "", "")), first);
}

/// Where no note decides that nobody read, a host that takes the compat library ends as one that leaves it aside.
#[test]
fn which_library_is_taken_is_asked_only_where_a_note_decides() {
    let knowledge = Knowledge::built_in();
    let unread = "base = \"nvidia/cuda:12.8.1-base-ubuntu22.04\"\n[packages.pip]\ntorch = \"2.7.0\"\n";
    let texts = texts().into_iter().chain([unread.to_owned()]);
    let (mut asked, mut others) = (0, 0);
    for image in texts.map(|text| image(&text)) {
        for host in &hosts("gpu = [\"T4\", \"B200\"]\ndriver = [\"470.182.03\", \"535.161.08\", \"580.95.05\"]\n") {
            for component in &image.components {
                let one = Replay::of(&image, component, host, knowledge);
                let end = End::alone(one, true);
                let same = |other: &Host| End::alone(one.on(other), true).is(&end);
                let alike = host.with_either_library().iter().all(same);
                let hangs = loader::hangs_on_a_note(one);
                asked += usize::from(hangs);
                others += usize::from(!hangs);
                assert!(alike || hangs, "{host:?}");
            }
        }
    }
    assert!(asked > 100 && others > asked, "{asked} and {others}");
}

#[test]
fn a_host_that_is_made_of_another_keeps_no_numbers_of_it_but_its_own() {
    let all = hosts("gpu = [\"T4\", \"L4\", \"A100-SXM4-40GB\", \"NVIDIA H100 80GB HBM3\"]\ndriver = \"525.60.13\"");
    let numbers = |host: &Host| host.alike.expect("numbers");
    let mut seen = BTreeMap::new();
    for host in &all {
        let way = (host.mode, host.launch, host.toolkit_version, host.compat_selection);
        let other = *seen.entry(numbers(host).before).or_insert(way);
        assert_eq!(other, way, "one number for two ways");
        for other in host.in_cdi.iter().map(|other| &**other).chain(host.with_either_library()) {
            assert_ne!(numbers(other).before, numbers(host).before);
        }
        for other in host.with_either_library() {
            // Of a variant of a variant nothing is known.
            assert!(other.with_either_library().iter().all(|one| one.alike.is_none()));
        }
    }
    assert!(seen.len() < all.len() / 2, "{} of {}", seen.len(), all.len());
}
