//! The minimum driver, compared with a test of every release.

use super::*;
use crate::describe::ImageDescription;
use crate::fix::minimum_driver::driver_search::{MAX_REPLAYS, ReleaseGroups};
use crate::fleet::GpuNameLookup;
use crate::infer::infer_image_facts;
use crate::text::source::{SourceText, Sources};
use crate::{extract, fleet};

/// Indices as a text: `#` satisfies the predicate, `.` does not.
#[test]
fn the_last_unbroken_range_is_tested_no_further_than_necessary() {
    for (places, expected, expected_calls) in [
        ("..####", 2..6, 5),
        ("##.###", 3..6, 4),
        ("#..##..", 3..5, 5),
        ("######", 0..6, 6),
        (".....#", 5..6, 2),
        ("#.....", 0..1, 6),
        ("......", 0..0, 6),
        ("", 0..0, 0),
    ] {
        let mut count = 0;
        let row = last_unbroken_range(places.len(), |at| {
            count += 1;
            places.as_bytes()[at] == b'#'
        });
        assert_eq!((row, count), (expected, expected_calls), "{places}");
    }
}

/// Infers the images of a description.
fn subject_images(text: &str) -> SubjectImages {
    let description = ImageDescription::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let seen = extract::observe_description(&description, None, None);
    let found =
        infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in()).into_iter().map(Arc::new).collect();
    SubjectImages { builds: BTreeMap::from([("linux/amd64".to_owned(), found)]), day: None }
}

/// Reads a pool with these fields.
fn read_pool(text: &str) -> Pool {
    let mut sources = Sources::default();
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{text}"));
    let source = sources.add(text.clone());
    fleet::read_fleet(source, &text, &|_| GpuNameLookup::Known).expect("a fleet").pools.remove(0)
}

/// Returns the minimum driver by the verdict on every release.
fn minimum_driver_in_full(images: &SubjectImages, pool: &Pool, knowledge: Knowledge) -> MinimumDriver {
    let releases = releases_for_pool(pool, knowledge);
    // If another system provides the driver, its version is unknown.
    let mut least = if releases.is_empty() { MinimumDriver::Open } else { MinimumDriver::Never };
    for driver in releases.into_iter().rev() {
        match (images.result_on_pool(&with_driver(pool, driver), knowledge), least) {
            (SubjectResult::Starts(_), _) => least = MinimumDriver::From(driver),
            (_, MinimumDriver::From(_)) => break,
            (SubjectResult::Open, _) => least = MinimumDriver::Open,
            (SubjectResult::Fails | SubjectResult::Nothing, _) => {}
        }
    }
    least
}

#[test]
fn the_minimum_equals_a_test_of_every_release() {
    let knowledge = Knowledge::built_in();
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
    let code =
        "[[gpu_code]]\nfile = \"torch/lib/libtorch_cuda.so\"\ncomponent = \"torch\"\nsass = [\"sm_80\", \"sm_75\"]\n";
    let torch = format!("{complete}[packages.pip]\ntorch = \"2.1.0+cu121\"\n{code}");
    let bound = format!("{torch}\n[env]\nNVIDIA_REQUIRE_CUDA = \"cuda>=12.1 driver<560\"\n");
    let compat = format!(
        "{torch}[files]\n\"/usr/local/cuda-12.1/compat/libcuda.so.530.30.02\" = {{}}\n\
         \"/usr/local/cuda\" = {{ link = \"cuda-12.1\" }}\n"
    );
    let stub = format!("{complete}cuda_runtime = \"12.4\"\n[env]\nNVIDIA_DRIVER_CAPABILITIES = \"graphics\"\n");
    let base = "base = \"nvidia/cuda:12.8.1-runtime-ubuntu22.04\"\n".to_owned();
    let uninspected = "base = \"example.com/team/base:1\"\n[packages.pip]\ntorch = \"2.7.0+cu128\"\n".to_owned();
    let nothing = complete.to_owned();
    let mut results: Vec<MinimumDriver> = Vec::new();
    for image in [torch, bound, compat, stub, base, uninspected, nothing] {
        let images = subject_images(&image);
        for fields in [
            "gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"",
            "gpu = [\"A100-SXM4-40GB\", \"B200\"]\nlaunch = \"kubernetes\"",
            "gpu = \"K80\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"",
            "gpu = \"RTX 4090\"\nwsl = true",
        ] {
            let pool = read_pool(fields);
            let found = minimum_driver(&images, &pool, knowledge);
            assert_eq!(found, minimum_driver_in_full(&images, &pool, knowledge), "{image} on {fields}");
            results.push(found);
        }
    }
    let kinds = |kind: fn(&MinimumDriver) -> bool| results.iter().filter(|one| kind(one)).count();
    assert!(kinds(|one| matches!(one, MinimumDriver::From(_))) > 3, "{results:?}");
    assert!(
        kinds(|one| *one == MinimumDriver::Never) > 3 && kinds(|one| *one == MinimumDriver::Open) > 0,
        "{results:?}"
    );
}

#[test]
fn an_open_pool_is_tested_with_fewer_releases_and_the_same_result() {
    let knowledge = Knowledge::built_in();
    let images = subject_images("complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.8\"\n");
    let any = read_pool("");
    let drivers = releases_for_pool(&any, knowledge);
    let newest = *drivers.last().expect("a release");
    let hosts = with_driver(&any, newest).hosts(knowledge, None).len();
    assert!(hosts * drivers.len() > MAX_REPLAYS, "few nodes: {hosts} with {} releases", drivers.len());
    let distinguishable = images.distinguishable_releases(&any, &drivers, knowledge);
    assert!(distinguishable.len() < drivers.len(), "{} of {}", distinguishable.len(), drivers.len());
    assert_eq!(minimum_driver(&images, &any, knowledge), minimum_driver_in_full(&images, &any, knowledge));
}

/// The cached result of one release holds for its whole group: each is tested separately, and after others.
#[test]
fn releases_of_one_group_have_the_same_result() {
    let knowledge = Knowledge::built_in();
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.4\"\n";
    let bound = format!("{complete}[env]\nNVIDIA_REQUIRE_DRIVER = \"driver>=530.30.02,driver<535.129.03\"\n");
    let compat = format!("{complete}[files]\n\"/usr/local/cuda/compat/libcuda.so.550.54.15\" = {{}}\n");
    for text in [complete.to_owned(), bound, compat] {
        let images = subject_images(&text);
        for fields in
            ["gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"", "gpu = \"K80\"\nlaunch = \"docker-cdi\""]
        {
            let pool = read_pool(fields);
            let releases = releases_for_pool(&pool, knowledge);
            let mut groups = ReleaseGroups::new(&images, &pool, &releases, knowledge);
            let mut kinds: Vec<SubjectResult> = Vec::new();
            for (at, release) in releases.iter().enumerate() {
                let hosts = with_driver(&pool, *release).hosts(knowledge, None);
                let (starts, end) = images.quick_result_on_hosts(&hosts, knowledge, &mut 0);
                assert_eq!(groups.result_with_release(at, &hosts, knowledge), end, "{text} with {release} on {fields}");
                assert_eq!(
                    groups.starts_with_release(at, &hosts, knowledge),
                    starts,
                    "{text} with {release} on {fields}"
                );
                if !kinds.contains(&end) {
                    kinds.push(end);
                }
            }
            assert!(fields.contains("K80") || kinds.len() > 1, "{kinds:?}");
        }
    }
}

#[test]
fn several_images_share_the_last_range_in_which_all_start() {
    let knowledge = Knowledge::built_in();
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
    let with = |cuda: &str, require: &str| {
        subject_images(&format!(
            "{complete}cuda_runtime = \"{cuda}\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n\
             NVIDIA_REQUIRE_DRIVER = \"{require}\"\n"
        ))
    };
    let pool = read_pool("gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"");
    let release = |text: &str| text.parse::<DriverVersion>().expect("a release");
    // One that starts in two rows, one with a ceiling, one that starts from some release on, one that never does.
    let gap = with("11.4", "driver>=470,driver<471 driver>=535");
    let old = with("11.4", "driver>=470,driver<525");
    let new = with("12.4", "driver>=550");
    let never = with("11.4", "driver<100");
    let all = |list: &[&SubjectImages]| {
        let numbered: Vec<(&SubjectImages, usize)> = list.iter().enumerate().map(|(at, one)| (*one, at)).collect();
        common_minimum_driver(&pool, &numbered, knowledge)
    };
    let found = all(&[&gap]).driver.expect("a release");
    assert!(release("535") <= found && found < release("536"), "not the row below the gap: {found}");
    let found = all(&[&gap, &old]).driver.expect("a release");
    assert!(release("470") <= found && found < release("471"), "both start in the lower row alone: {found}");
    let found = all(&[&gap, &new, &never]);
    assert!(found.driver.is_some_and(|driver| release("550") <= driver && driver < release("551")), "{found:?}");
    assert_eq!((found.never, found.open), (vec![2], Vec::new()));
    let found = all(&[&old, &new]);
    assert_eq!(found, CommonMinimumDriver::default(), "each starts with some release, and both with none");
    assert_eq!(all(&[&never]), CommonMinimumDriver { never: vec![0], ..CommonMinimumDriver::default() });
    assert_eq!(all(&[]), CommonMinimumDriver::default());
}

/// Unrelated content leaves the key of an image unchanged; everything that a start reads changes it.
#[test]
fn unrelated_content_does_not_affect_equivalence() {
    let of = |head: &str, packages: &str, files: &str| {
        let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
        subject_images(&format!("{complete}{head}[packages.pip]\n{packages}\n{files}")).equivalence_key()
    };
    let torch = "torch = \"2.1.0+cu121\"";
    let one = of("", torch, "");
    for more in ["requests = \"2.0\"", "a = \"1\"\nb = \"2\"\nzope = \"3\""] {
        assert_eq!(of("", &format!("{more}\n{torch}"), ""), one, "{more}");
        assert_eq!(of("", &format!("{torch}\n{more}"), ""), one, "{more}");
    }
    let env = |name: &str, value: &str| of("", torch, &format!("[env]\n{name} = \"{value}\"\n"));
    let others = [
        of("", "torch = \"2.1.0+cu118\"", ""),
        of("", "torch = \"2.2.0+cu121\"", ""),
        of("", &format!("{torch}\nvllm = \"0.10.1.1\""), ""),
        of("cuda_runtime = \"12.4\"\n", "", ""),
        of("", torch, "[files]\n\"/usr/local/cuda/compat/libcuda.so.530.30.02\" = {}\n"),
        of("", torch, "[[gpu_code]]\nfile = \"a.so\"\ncomponent = \"torch\"\nsass = [\"sm_80\"]\n"),
        of("", torch, "[[gpu_code]]\nfile = \"a.so\"\ncomponent = \"torch\"\nsass = [\"sm_75\"]\n"),
        env("NVIDIA_REQUIRE_CUDA", "cuda>=12.1"),
        env("NVIDIA_REQUIRE_CUDA", "cuda>=12.2"),
        env("NVIDIA_VISIBLE_DEVICES", "all"),
        env("NVIDIA_DRIVER_CAPABILITIES", "FactId(0)"),
        env("NVIDIA_DRIVER_CAPABILITIES", "FactId(1)"),
    ];
    for (at, other) in others.iter().enumerate() {
        assert_ne!(*other, one, "{at}");
        assert!(!others.iter().skip(at + 1).any(|another| another == other), "{at}: {other}");
    }
}
