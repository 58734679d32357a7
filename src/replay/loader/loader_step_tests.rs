//! Which libcuda wins, case by case.

use super::*;
use crate::describe::ImageDescription;
use crate::fleet::GpuNameLookup;
use crate::infer::infer_image_facts;
use crate::knowledge::Knowledge;
use crate::replay::LibcudaSource;
use crate::text::source::{SourceText, Sources};
use crate::{extract, fleet};

/// First lines of a description of a completely known image.
const COMPLETE_HEAD: &str = "cuda_runtime = \"12.4\"\ncomplete = [\"env\", \"packages\", \"files\", \"code\"]\n";
/// Description lines of a compat directory with one library.
const COMPAT_FILES: &str =
    "\"/usr/local/cuda\" = { link = \"cuda-12.4\" }\n\"/usr/local/cuda-12.4/compat/libcuda.so.550.54.15\" = {}\n";
/// Description line of the file that marks a Debian image.
const DEBIAN_FILE: &str = "\"/etc/debian_version\" = {}\n";

/// Returns the libcuda that programs load, as a short text for tables.
fn loaded_libcuda(image: &str, pool: &str) -> String {
    let description = ImageDescription::read(&SourceText::new("x.image.toml", image)).expect("a description");
    let seen = extract::observe_description(&description, None, None);
    let knowledge = Knowledge::built_in();
    let images = infer_image_facts(&seen, "linux/amd64", None, knowledge);
    let mut sources = Sources::default();
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{pool}"));
    let source = sources.add(text.clone());
    let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet");
    let hosts = fleet.pools[0].hosts(knowledge, None);
    let (image, host) = (&images[0], &hosts[0]);
    let (loaded, record) = loader_step(Replay::new(image, &image.components[0], host, knowledge));
    let stub = if matches!(record.result, StepResult::Stops(_)) { "stops: " } else { "" };
    let source = match loaded.source {
        None => "unknown".to_owned(),
        Some(LibcudaSource::Host) => "host".to_owned(),
        Some(LibcudaSource::Compat(library)) => format!("compat {}", library.version),
        Some(LibcudaSource::Image(path)) => path.to_owned(),
        Some(LibcudaSource::Nowhere) => "nowhere".to_owned(),
    };
    format!("{stub}{source}")
}

/// Returns the fields of a pool with an A100.
fn pool_fields(launch: &str, toolkit: &str, driver: &str) -> String {
    let directory = "library_directory = \"/usr/lib/x86_64-linux-gnu\"";
    format!("gpu = \"A100\"\nlaunch = \"{launch}\"\ntoolkit = \"{toolkit}\"\ndriver = \"{driver}\"\n{directory}\n")
}

/// Returns the fields of such a pool with the variables that older toolkits need to mount the compute libraries.
fn compute_pool_fields(launch: &str, toolkit: &str, driver: &str) -> String {
    format!(
        "{}env = {{ NVIDIA_VISIBLE_DEVICES = \"all\", NVIDIA_DRIVER_CAPABILITIES = \"compute\" }}\n",
        pool_fields(launch, toolkit, driver)
    )
}

/// Returns the description of a completely known image with these files.
fn image_with_files(list: &str) -> String {
    format!("{COMPLETE_HEAD}[files]\n{list}")
}

#[test]
fn toolkit_version_decides_whether_compat_is_used() {
    for (launch, toolkit, driver, expected) in [
        ("docker-gpus", "1.3.0", "470.57.02", "compat 550.54.15"),
        ("docker-gpus", "1.17.3", "470.57.02", "compat 550.54.15"),
        ("docker-gpus", "1.17.3", "570.86.15", "host"),
        ("docker-gpus", "1.17.3", "550.54.14", "host"),
        ("docker-gpus", "1.17.4", "470.57.02", "host"),
        ("docker-gpus", "1.17.6", "470.57.02", "host"),
        ("nvidia-runtime", "1.17.6", "470.57.02", "compat 550.54.15"),
        ("docker-gpus", "1.17.7", "470.57.02", "compat 550.54.15"),
        ("docker-gpus", "1.17.7", "570.86.15", "host"),
        ("docker-cdi", "1.17.4", "470.57.02", "host"),
        ("docker-cdi", "1.19.0", "470.57.02", "compat 550.54.15"),
        ("docker-cdi", "1.19.0", "550.54.14", "host"),
        ("docker-cdi", "1.20.0", "570.86.15", "host"),
    ] {
        let list = format!("{COMPAT_FILES}{DEBIAN_FILE}\"/etc/ld.so.cache\" = {{}}\n");
        let found = loaded_libcuda(&image_with_files(&list), &compute_pool_fields(launch, toolkit, driver));
        assert_eq!(found, expected, "{launch} {toolkit} {driver}");
    }
}

#[test]
fn hook_needs_an_ld_cache_or_a_regular_file_by_version() {
    let linked = format!(
        "{COMPAT_FILES}\"/usr/local/cuda-12.4/compat/libcuda.so.550.54\" = {{ link = \"libcuda.so.550.54.15\" }}\n"
    );
    let cached = |list: &str| format!("{list}\"/etc/ld.so.cache\" = {{}}\n");
    for (what, list, toolkit, expected) in [
        ("no cache", COMPAT_FILES.to_owned(), "1.18.0", "host"),
        ("a cache", cached(COMPAT_FILES), "1.18.0", "compat 550.54.15"),
        ("no cache needed", COMPAT_FILES.to_owned(), "1.18.1", "compat 550.54.15"),
        ("a link next to the file", cached(&linked), "1.17.8", "compat 550.54.15"),
        (
            "two files",
            cached(&format!(
                "{COMPAT_FILES}{}",
                COMPAT_FILES.replace("54.15", "54.14").split_once('\n').expect("lines").1
            )),
            "1.18.2",
            "host",
        ),
        ("a link does not count", linked.clone(), "1.19.0", "compat 550.54.15"),
        ("not behind the link", COMPAT_FILES.replace("= \"cuda-12.4", "= \"cuda-12.8"), "1.19.0", "host"),
    ] {
        assert_eq!(
            loaded_libcuda(&image_with_files(&list), &pool_fields("docker-cdi", toolkit, "470.57.02")),
            expected,
            "{what}"
        );
    }
}

#[test]
fn old_libnvidia_container_does_not_follow_an_absolute_link() {
    let absolute = COMPAT_FILES.replace("= \"cuda-12.4", "= \"/usr/local/cuda-12.4");
    for (list, toolkit, expected) in [
        (absolute.as_str(), "1.3.0", "host"),
        (absolute.as_str(), "1.3.1", "compat 550.54.15"),
        (COMPAT_FILES, "1.3.0", "compat 550.54.15"),
    ] {
        assert_eq!(
            loaded_libcuda(&image_with_files(list), &compute_pool_fields("docker-gpus", toolkit, "470.57.02")),
            expected,
            "{toolkit}"
        );
    }
}

#[test]
fn link_out_of_the_compat_directory_is_followed_by_the_cli_only() {
    let link = "\"/usr/local/cuda/compat/libcuda.so.550.54.15\" = { link = \"/opt/c/libcuda.so.550.54.15\" }\n";
    let file = "\"/opt/c/libcuda.so.550.54.15\" = {}\n";
    let other = "\"/opt/c/libcuda.so.460.32.03\" = {}\n\
        \"/usr/local/cuda/compat/libcuda.so.550.54.15\" = { link = \"/opt/c/libcuda.so.460.32.03\" }\n";
    let cache = "\"/etc/ld.so.cache\" = {}\n";
    for (what, list, launch, toolkit, expected) in [
        ("mounted", format!("{link}{file}"), "docker-gpus", "1.17.3", "compat 550.54.15"),
        ("named first", format!("{link}{file}"), "docker-gpus", "1.17.8", "compat 550.54.15"),
        ("no hook", format!("{link}{file}{cache}"), "docker-cdi", "1.18.2", "host"),
        ("no hook, later", format!("{link}{file}{cache}"), "docker-cdi", "1.20.0", "host"),
        ("to nothing", link.to_owned(), "docker-gpus", "1.17.8", "host"),
        ("without the link", file.to_owned(), "docker-gpus", "1.17.8", "host"),
        ("its own number counts", other.to_owned(), "docker-gpus", "1.17.8", "host"),
    ] {
        assert_eq!(
            loaded_libcuda(&image_with_files(&list), &pool_fields(launch, toolkit, "470.57.02")),
            expected,
            "{what}"
        );
    }
    let searched = format!("{COMPLETE_HEAD}[env]\nLD_LIBRARY_PATH = \"/opt/c\"\n[files]\n{file}");
    assert_eq!(
        loaded_libcuda(&searched, &pool_fields("docker-cdi", "1.20.0", "470.57.02")),
        "/opt/c/libcuda.so.550.54.15"
    );
}

#[test]
fn version_in_the_name_of_a_jetson_libcuda_is_older_than_any_driver() {
    let orin =
        |rest: &str| format!("gpu = \"Jetson AGX Orin\"\ndriver = \"540.4.0\"\nlaunch = \"nvidia-runtime\"\n{rest}\n");
    let off = "toolkit = \"1.17.8\"\n[pool.host]\nfeatures.disable-cuda-compat-lib-hook = true";
    let opted = |toolkit: &str| {
        format!("toolkit = \"{toolkit}\"\n[pool.host]\nfeatures.allow-cuda-compat-libs-from-container = true")
    };
    let with = |name: &str| {
        let list = COMPAT_FILES.replace("libcuda.so.550.54.15", name);
        format!(
            "{COMPLETE_HEAD}[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n[files]\n{list}{DEBIAN_FILE}\"/etc/ld.so.cache\" = {{}}\n"
        )
    };
    for (name, rest, expected) in [
        ("libcuda.so.535.54.03", "toolkit = \"1.17.8\"", "compat 535.54.03"),
        ("libcuda.so.535.54.03", "toolkit = \"1.17.5\"", "compat 535.54.03"),
        ("libcuda.so.1.1", "toolkit = \"1.17.8\"", "host"),
        ("libcuda.so.535.54.03", "toolkit = \"1.17.9\"", "host"),
        ("libcuda.so.535.54.03", "toolkit = \"1.17.4\"", "host"),
        ("libcuda.so.535.54.03", "toolkit = \"1.19.0\"", "host"),
        ("libcuda.so.535.54.03", off, "host"),
        ("libcuda.so.535.54.03", &opted("1.17.6"), "host"),
        ("libcuda.so.535.54.03", &opted("1.17.8"), "compat 535.54.03"),
    ] {
        assert_eq!(loaded_libcuda(&with(name), &orin(rest)), expected, "{name} {rest}");
    }
}

#[test]
fn newer_csv_mode_runs_the_compat_hook() {
    let image = format!(
        "{COMPLETE_HEAD}[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n[files]\n\
         \"/usr/local/cuda/compat_orin/libcuda.so.1.1\" = {{ elf_note = {{ cuda = \"13.4\" }} }}\n"
    );
    for (toolkit, host, expected) in [
        ("1.19.1", "", "compat 1.1"),
        ("1.19.1", "features.disable-cuda-compat-lib-hook = true", "compat 1.1"),
        ("1.20.0", "features.disable-cuda-compat-lib-hook = true", "compat 1.1"),
        (
            "1.19.1",
            "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks = [\"enable-cuda-compat\"]",
            "compat 1.1",
        ),
        ("1.20.0", "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks = [\"enable-cuda-compat\"]", "host"),
        ("1.20.0", "nvidia-container-runtime.modes.jit-cdi.nvcdi-disable-hooks = [\"all\"]", "host"),
        ("1.18.2", "", "host"),
        ("1.17.8", "", "host"),
    ] {
        let pool = format!(
            "gpu = \"Jetson AGX Orin\"\ndriver = \"540.4.0\"\ndriver_cuda = \"13.2\"\nlaunch = \"nvidia-runtime\"\n\
             toolkit = \"{toolkit}\"\n[pool.host]\n{host}\n"
        );
        assert_eq!(loaded_libcuda(&image, &pool), expected, "{toolkit} {host}");
    }
}

#[test]
fn ldconfig_files_are_read_in_order_of_name() {
    let named = |name: &str| {
        format!("{COMPAT_FILES}{DEBIAN_FILE}\"/etc/ld.so.conf.d/{name}\" = {{ text = \"/usr/local/cuda/compat\" }}\n")
    };
    for (name, launch, toolkit, expected) in [
        ("00-cuda-compat.conf", "docker-cdi", "1.17.4", "compat 550.54.15"),
        ("00-cuda-compat.conf", "docker-cdi", "1.19.0", "compat 550.54.15"),
        ("00-cuda-compat.conf", "docker-gpus", "1.17.8", "host"),
        ("cuda-compat.conf", "docker-cdi", "1.18.0", "host"),
        ("cuda-compat.conf", "docker-cdi", "1.18.1", "compat 550.54.15"),
        ("cuda-compat.conf", "docker-gpus", "1.19.0", "host"),
        ("zz-compat.conf", "docker-cdi", "1.19.0", "host"),
        ("cuda-compat.txt", "docker-cdi", "1.19.0", "host"),
    ] {
        assert_eq!(
            loaded_libcuda(&image_with_files(&named(name)), &pool_fields(launch, toolkit, "570.86.15")),
            expected,
            "{name} {launch} {toolkit}"
        );
    }
}

#[test]
fn highest_version_of_a_directory_is_loaded() {
    let lib = "/usr/lib/x86_64-linux-gnu";
    let list = |path: &str| format!("{DEBIAN_FILE}\"{path}\" = {{}}\n");
    let gpus = pool_fields("docker-gpus", "1.17.8", "535.129.03");
    for (what, list, expected) in [
        (
            "newer",
            list("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15"),
            "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
        ),
        ("older", list("/usr/lib/x86_64-linux-gnu/libcuda.so.470.57.02"), "host"),
        ("the same", list("/usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03"), "host"),
        // `ldconfig` reports that it is no link, and keeps it.
        ("the very name", list(&format!("{lib}/libcuda.so.1")), "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
        ("a link of the very name", format!("{DEBIAN_FILE}\"{lib}/libcuda.so.1\" = {{ link = \"x\" }}\n"), "host"),
        ("the very name elsewhere", list("/usr/local/lib/libcuda.so.1"), "host"),
        ("a name that no program requests", list(&format!("{lib}/libcuda.so")), "host"),
        (
            "behind the old name",
            list("/lib/x86_64-linux-gnu/libcuda.so.550.54.15"),
            "/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
        ),
        ("another directory", list("/usr/local/lib/libcuda.so.550.54.15"), "host"),
        ("not Debian's", "\"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15\" = {}\n".to_owned(), "host"),
        ("no libcuda", list(&format!("{lib}/libnvidia-ml.so.550.54.15")), "host"),
    ] {
        assert_eq!(loaded_libcuda(&image_with_files(&list), &gpus), expected, "{what}");
    }
    let red_hat = "\"/usr/lib64/libcuda.so.550.54.15\" = {}\n";
    assert_eq!(loaded_libcuda(&image_with_files(red_hat), &gpus), "/usr/lib64/libcuda.so.550.54.15");
    assert_eq!(loaded_libcuda(&image_with_files(&format!("{red_hat}{DEBIAN_FILE}")), &gpus), "host");
}

#[test]
fn search_path_is_searched_first() {
    let path =
        |value: &str, list: &str| format!("{COMPLETE_HEAD}[env]\nLD_LIBRARY_PATH = \"{value}\"\n[files]\n{list}");
    let stub = "\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {}\n";
    let soname = "\"/usr/local/cuda/lib64/stubs/libcuda.so.1\" = { link = \"libcuda.so\" }\n";
    let both = format!("{stub}{soname}");
    let elsewhere =
        format!("{stub}\"/opt/lib/libcuda.so.1\" = {{ link = \"/usr/local/cuda/lib64/stubs/libcuda.so\" }}\n");
    let chain = "\"/usr/local/cuda\" = { link = \"/etc/alternatives/cuda\" }\n\
        \"/etc/alternatives/cuda\" = { link = \"/usr/local/cuda-12.4\" }\n\
        \"/usr/local/cuda-12.4/compat/libcuda.so.550.54.15\" = {}\n";
    let gpus = pool_fields("docker-gpus", "1.17.8", "570.86.15");
    for (what, image, expected) in [
        ("compat", path("/usr/local/cuda/compat/", COMPAT_FILES), "compat 550.54.15"),
        ("compat by a chain of links", path("/usr/local/cuda/compat", chain), "compat 550.54.15"),
        ("compat of another toolkit", path("/usr/local/cuda-11.8/compat", COMPAT_FILES), "host"),
        ("compat behind the host's", path("/usr/lib64:/usr/local/cuda/compat", COMPAT_FILES), "host"),
        ("stub", path("/usr/local/cuda/lib64/stubs", &both), "stops: /usr/local/cuda/lib64/stubs/libcuda.so.1"),
        ("stub without soname", path("/usr/local/cuda/lib64/stubs", stub), "host"),
        ("stub behind a link", path("/opt/lib", &elsewhere), "stops: /opt/lib/libcuda.so.1"),
        ("another directory", path("/usr/local/cuda/lib64", &both), "host"),
        ("longer name", path("/usr/local/cuda/lib64/stubsx", &both), "host"),
        ("empty parts", path("::", &both), "host"),
    ] {
        assert_eq!(loaded_libcuda(&image, &gpus), expected, "{what}");
    }
    let own = format!("{gpus}env = {{ LD_LIBRARY_PATH = \"\" }}\n");
    assert_eq!(
        loaded_libcuda(&path("/usr/local/cuda/compat", COMPAT_FILES), &own),
        "host",
        "the pool's value replaces the image's"
    );
    let forced = format!("{gpus}env = {{ LD_LIBRARY_PATH = \"/usr/local/cuda/compat\" }}\n");
    assert_eq!(loaded_libcuda(&image_with_files(COMPAT_FILES), &forced), "compat 550.54.15");
}

#[test]
fn all_possible_host_directories_must_precede_in_the_search_path() {
    let gpus = "gpu = \"A100\"\nlaunch = \"docker-cdi\"\ntoolkit = \"1.18.1\"\ndriver = \"570.86.15\"\n";
    let conf = "\"/etc/ld.so.conf.d/00-compat.conf\" = { text = \"/usr/local/cuda/compat\" }\n";
    let listed = format!("{COMPAT_FILES}{DEBIAN_FILE}{conf}");
    let both = "/usr/lib/x86_64-linux-gnu:/usr/lib64";
    let gets_with = |value: &str| {
        loaded_libcuda(&format!("{COMPLETE_HEAD}[env]\nLD_LIBRARY_PATH = \"{value}\"\n[files]\n{listed}"), gpus)
    };
    for (value, expected) in [
        (both.to_owned(), "host"),
        (format!("/opt/lib:{both}:/usr/local/cuda/compat"), "host"),
        ("/usr/lib64".to_owned(), "unknown"),
        ("/usr/lib/x86_64-linux-gnu:/usr/local/cuda/compat:/usr/lib64".to_owned(), "unknown"),
        ("/usr/lib/aarch64-linux-gnu:/usr/lib64".to_owned(), "unknown"),
        (format!("/usr/local/cuda/compat:{both}"), "compat 550.54.15"),
        ("/opt/lib".to_owned(), "compat 550.54.15"),
        ("/usr/lib64x:/usr/lib".to_owned(), "compat 550.54.15"),
    ] {
        assert_eq!(gets_with(&value), expected, "{value}");
    }
}

#[test]
fn stub_first_in_the_ld_cache_is_loaded() {
    let list = format!(
        "{DEBIAN_FILE}\"/usr/local/cuda/lib64/stubs/libcuda.so\" = {{}}\n\
        \"/usr/local/lib/libcuda.so.1\" = {{ link = \"/usr/local/cuda/lib64/stubs/libcuda.so\" }}\n"
    );
    for (launch, toolkit, expected) in [
        ("docker-cdi", "1.18.0", "host"),
        ("docker-cdi", "1.18.1", "stops: /usr/local/lib/libcuda.so.1"),
        ("docker-gpus", "1.18.1", "host"),
    ] {
        assert_eq!(
            loaded_libcuda(&image_with_files(&list), &pool_fields(launch, toolkit, "570.86.15")),
            expected,
            "{launch} {toolkit}"
        );
    }
}

#[test]
fn probing_entrypoint_falls_back_to_the_host() {
    let image = |entrypoint: &str| {
        format!(
            "cuda_runtime = \"12.4\"\nentrypoint = [\"{entrypoint}\"]\n{}[files]\n{COMPAT_FILES}",
            COMPLETE_HEAD.split_once('\n').expect("lines").1
        )
    };
    let ngc = image("/opt/nvidia/nvidia_entrypoint.sh");
    let geforce = pool_fields("docker-gpus", "1.17.3", "525.116.03").replace("A100", "GeForce RTX 4090");
    let data_center = pool_fields("docker-gpus", "1.17.4", "470.57.02");
    for (what, image, pool, expected) in [
        ("refused by the GPU", &ngc, &geforce, "host"),
        ("entrypoint replaced", &image("/bin/bash"), &geforce, "compat 550.54.15"),
        ("without the toolkit's help", &ngc, &data_center, "compat 550.54.15"),
        ("without the entrypoint", &image("/bin/bash"), &data_center, "host"),
        ("newer driver", &ngc, &pool_with_driver_570(), "host"),
        ("branch not listed", &ngc, &pool_fields("docker-gpus", "1.17.3", "545.23.08"), "host"),
    ] {
        assert_eq!(loaded_libcuda(image, pool), expected, "{what}");
    }
}

/// Returns the fields of a pool with driver 570.86.15.
fn pool_with_driver_570() -> String {
    pool_fields("docker-gpus", "1.17.3", "570.86.15")
}

#[test]
fn missing_facts_make_the_result_unknown() {
    let open = "cuda_runtime = \"12.4\"\n";
    let old = pool_fields("docker-gpus", "1.17.3", "470.57.02");
    assert_eq!(loaded_libcuda(open, &old), "unknown", "nothing said of files");
    let no_driver = "gpu = \"A100\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.3\"\n".to_owned();
    assert_eq!(loaded_libcuda(&image_with_files(""), &no_driver), "host", "nothing to choose from");
    let head = format!("{COMPLETE_HEAD}[files]\n{DEBIAN_FILE}");
    let packages = format!("{head}[packages.apt]\nlibnvidia-compute-535 = \"*\"\n");
    assert_eq!(loaded_libcuda(&packages, &old), "libnvidia-compute-535", "a package of a newer branch");
    let newer = pool_fields("docker-gpus", "1.17.3", "550.54.14");
    assert_eq!(loaded_libcuda(&packages, &newer), "host", "a package of an older branch");
    let same = pool_fields("docker-gpus", "1.17.3", "535.54.03");
    assert_eq!(loaded_libcuda(&packages, &same), "unknown", "a package of some release of the branch");
    let unnamed = format!("{head}[packages.apt]\nlibcuda1 = \"*\"\n");
    assert_eq!(loaded_libcuda(&unnamed, &old), "unknown", "a package of an unknown branch");
    let gke = "gpu = \"A100\"\nlaunch = \"gke\"\ndriver = \"535.129.03\"\n";
    assert_eq!(loaded_libcuda(&image_with_files(""), gke), "stops: nowhere", "GKE without the search path");
    let key = format!("{COMPLETE_HEAD}[env]\nLD_LIBRARY_PATH = \"/usr/local/nvidia/lib:/usr/local/nvidia/lib64\"\n");
    assert_eq!(loaded_libcuda(&key, gke), "host", "GKE with it");
}

#[test]
fn packaged_library_is_in_the_library_directory_of_its_distribution() {
    let newer = |head: &str| format!("{head}[packages.apt]\nlibnvidia-compute-535 = \"*\"\n");
    let debian = newer(&format!("{COMPLETE_HEAD}[files]\n{DEBIAN_FILE}"));
    let open = newer("cuda_runtime = \"12.4\"\n");
    let pool = |launch: &str, directory: &str| {
        format!(
            "gpu = \"A100\"\nlaunch = \"{launch}\"\ntoolkit = \"1.17.8\"\ndriver = \"470.57.02\"\n{}",
            if directory.is_empty() { String::new() } else { format!("library_directory = \"{directory}\"\n") }
        )
    };
    for (what, image, pool, expected) in [
        ("next to the host's", &debian, pool("docker-cdi", "/usr/lib/x86_64-linux-gnu"), "libnvidia-compute-535"),
        ("apart from the host's, which are searched first", &debian, pool("docker-cdi", "/usr/lib64"), "host"),
        ("host's directory unknown", &debian, pool("docker-cdi", ""), "unknown"),
        ("image's directory unknown", &open, pool("docker-cdi", "/usr/lib64"), "unknown"),
        ("mounted into the image's own", &debian, pool("docker-gpus", ""), "libnvidia-compute-535"),
        (
            "mounted into the image's own, set otherwise",
            &debian,
            pool("docker-gpus", "/usr/lib64"),
            "libnvidia-compute-535",
        ),
    ] {
        assert_eq!(loaded_libcuda(image, &pool), expected, "{what}");
    }
}

#[test]
fn compat_library_of_the_driver_version_counts_as_native() {
    for (driver, expected) in [
        ("550.54.15", StartRoute::Native),
        ("550.54.14", StartRoute::ForwardCompat),
        ("535.54.03", StartRoute::ForwardCompat),
    ] {
        let forced = format!(
            "{}env = {{ LD_LIBRARY_PATH = \"/usr/local/cuda/compat\" }}\n",
            pool_fields("docker-gpus", "1.17.8", driver)
        );
        let images = crate::replay::step_tests::image_from_description(&image_with_files(COMPAT_FILES));
        let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{forced}"));
        let source = Sources::default().add(text.clone());
        let fleet = fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet");
        let knowledge = Knowledge::built_in();
        let hosts = fleet.pools[0].hosts(knowledge, None);
        let (loaded, record) = loader_step(Replay::new(&images, &images.components[0], &hosts[0], knowledge));
        assert!(matches!(loaded.source, Some(LibcudaSource::Compat(_))), "{driver}");
        assert_eq!(record.result, StepResult::Passes(expected), "{driver}");
    }
}

/// Within the host's driver branch, a note may select the newer compat library; without a note nothing is done.
#[test]
fn unread_note_is_irrelevant_if_both_libraries_work() {
    let image = |rest: &str| {
        format!("base = \"nvidia/cuda:13.0.3-runtime-ubuntu24.04\"\n[packages.pip]\ntorch = \"2.9.0+cu130\"\n{rest}")
    };
    let own = "[files]\n\"/etc/ld.so.conf.d/00-cuda-compat.conf\" = { text = \"/usr/local/cuda/compat\" }\n";
    for (rest, gpu, toolkit, driver, expected) in [
        ("", "H100", "1.20.0", "580.65.06", "compat 580.173.02"),
        ("", "H100", "1.20.0", "580.95.05", "compat 580.173.02"),
        ("", "T4", "1.20.0", "580.95.05", "compat 580.173.02"),
        // It is taken for a library that is for other GPUs, or it is not.
        ("", "RTX 4090", "1.20.0", "580.95.05", "unknown"),
        // A GPU of unknown class.
        ("", "{ name = \"own\", compute_capability = \"9.0\" }", "1.20.0", "580.95.05", "unknown"),
        // Not newer than the host's, and by the major alone.
        ("", "H100", "1.20.0", "580.173.02", "host"),
        ("", "RTX 4090", "1.20.0", "580.173.02", "host"),
        ("", "H100", "1.19.0", "580.95.05", "host"),
        ("", "RTX 4090", "1.19.0", "580.95.05", "host"),
        // Of an older branch, its note may leave that out: the driver of the host is too old then.
        ("", "H100", "1.20.0", "535.129.03", "compat 580.173.02"),
        ("", "H100", "1.20.0", "545.23.08", "unknown"),
        // The image's own list puts it first whatever the hook does.
        (own, "RTX 4090", "1.20.0", "580.95.05", "compat 580.173.02"),
    ] {
        let gpu = if gpu.starts_with('{') { gpu.to_owned() } else { format!("\"{gpu}\"") };
        let pool = pool_fields("docker-cdi", toolkit, driver).replace("\"A100\"", &gpu);
        assert_eq!(loaded_libcuda(&image(rest), &pool), expected, "{rest} {gpu} {toolkit} {driver}");
    }
}

#[test]
fn texts_name_both_libraries_if_either_is_loaded() {
    let image = crate::replay::step_tests::image_from_description("base = \"nvidia/cuda:13.0.3-runtime-ubuntu24.04\"");
    let results = |gpu: &str, driver: &str| {
        let hosts =
            crate::replay::step_tests::pool_hosts(&pool_fields("docker-cdi", "1.20.0", driver).replace("A100", gpu));
        let step = |step| crate::replay::step_tests::step_result_and_text(&image, &hosts[0], step);
        (step(StartStep::Loader), step(StartStep::UserMode), step(StartStep::Runtime))
    };
    let (loader, user_mode, runtime) = results("H100", "580.95.05");
    assert_eq!((&*loader.0, &*user_mode.0, &*runtime.0), ("passes", "passes", "passes"));
    assert!(loader.1.contains("if its note lists branch 580, else 580.95.05 of the host"), "{}", loader.1);
    assert!(user_mode.1.contains("as does the libcuda of the host"), "{}", user_mode.1);
    let (loader, user_mode, runtime) = results("RTX 4090", "580.95.05");
    assert_eq!((&*loader.0, &*user_mode.0, &*runtime.0), ("unknown", "unknown", "unknown"));
}
