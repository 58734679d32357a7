//! The smallest driver, against all releases tried in full.

use super::*;
use crate::describe::Description;
use crate::extract;
use crate::fleet;
use crate::fleet::GpuName;
use crate::infer::infer;
use crate::least::asked::Asked;
use crate::least::drivers::MOST_REPLAYS;
use crate::source::SourceText;
use crate::source::Sources;

/// Places that do, as a text: `.` does not, `#` does.
#[test]
fn the_last_unbroken_row_is_asked_no_further_than_it_reaches() {
    for (places, expected, asked) in [
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
        let row = lasting(places.len(), |at| {
            count += 1;
            places.as_bytes()[at] == b'#'
        });
        assert_eq!((row, count), (expected, asked), "{places}");
    }
}

fn images(text: &str) -> Images {
    let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let seen = extract::of_description(&description, None, None);
    let found = infer(&seen, "linux/amd64", None, Knowledge::built_in()).into_iter().map(Arc::new).collect();
    Images { builds: BTreeMap::from([("linux/amd64".to_owned(), found)]), day: None }
}

fn pool(text: &str) -> Pool {
    let mut sources = Sources::default();
    let text = SourceText::new("fleet.toml", format!("[[pool]]\nname = \"p\"\n{text}"));
    let source = sources.add(text.clone());
    fleet::read(source, &text, &|_| GpuName::Known).expect("a fleet").pools.remove(0)
}

/// Each release in full, as its verdict says.
fn in_full(images: &Images, pool: &Pool, knowledge: Knowledge) -> Least {
    let releases = releases(pool, knowledge);
    // Where another system holds the driver, nobody can tell.
    let mut least = if releases.is_empty() { Least::Open } else { Least::Never };
    for driver in releases.into_iter().rev() {
        match (images.on(&with_driver(pool, driver), knowledge), least) {
            (End::Starts(_), _) => least = Least::From(driver),
            (_, Least::From(_)) => break,
            (End::Open, _) => least = Least::Open,
            (End::Fails | End::Nothing, _) => {}
        }
    }
    least
}

#[test]
fn it_is_what_all_releases_tried_in_full_say() {
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
    let unseen = "base = \"example.com/team/base:1\"\n[packages.pip]\ntorch = \"2.7.0+cu128\"\n".to_owned();
    let nothing = complete.to_owned();
    let mut told: Vec<Least> = Vec::new();
    for image in [torch, bound, compat, stub, base, unseen, nothing] {
        let images = images(&image);
        for fields in [
            "gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"",
            "gpu = [\"A100-SXM4-40GB\", \"B200\"]\nlaunch = \"kubernetes\"",
            "gpu = \"K80\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"",
            "gpu = \"RTX 4090\"\nwsl = true",
        ] {
            let pool = pool(fields);
            let found = least(&images, &pool, knowledge);
            assert_eq!(found, in_full(&images, &pool, knowledge), "{image} on {fields}");
            told.push(found);
        }
    }
    let kinds = |kind: fn(&Least) -> bool| told.iter().filter(|one| kind(one)).count();
    assert!(kinds(|one| matches!(one, Least::From(_))) > 3, "{told:?}");
    assert!(kinds(|one| *one == Least::Never) > 3 && kinds(|one| *one == Least::Open) > 0, "{told:?}");
}

#[test]
fn a_pool_that_says_nothing_is_asked_of_fewer_releases_with_the_same_end() {
    let knowledge = Knowledge::built_in();
    let images = images("complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.8\"\n");
    let any = pool("");
    let drivers = releases(&any, knowledge);
    let newest = *drivers.last().expect("a release");
    let hosts = with_driver(&any, newest).hosts(knowledge, None).len();
    assert!(hosts * drivers.len() > MOST_REPLAYS, "few nodes: {hosts} with {} releases", drivers.len());
    let told = images.telling(&any, &drivers, knowledge);
    assert!(told.len() < drivers.len(), "{} of {}", told.len(), drivers.len());
    assert_eq!(least(&images, &any, knowledge), in_full(&images, &any, knowledge));
}

/// What was told of one release is told of all of its row: each is asked by itself, and behind others.
#[test]
fn releases_of_one_row_end_alike() {
    let knowledge = Knowledge::built_in();
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\ncuda_runtime = \"12.4\"\n";
    let bound = format!("{complete}[env]\nNVIDIA_REQUIRE_DRIVER = \"driver>=530.30.02,driver<535.129.03\"\n");
    let compat = format!("{complete}[files]\n\"/usr/local/cuda/compat/libcuda.so.550.54.15\" = {{}}\n");
    for text in [complete.to_owned(), bound, compat] {
        let images = images(&text);
        for fields in
            ["gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.17.8\"", "gpu = \"K80\"\nlaunch = \"docker-cdi\""]
        {
            let pool = pool(fields);
            let releases = releases(&pool, knowledge);
            let mut asked = Asked::of(&images, &pool, &releases, knowledge);
            let mut kinds: Vec<End> = Vec::new();
            for (at, release) in releases.iter().enumerate() {
                let hosts = with_driver(&pool, *release).hosts(knowledge, None);
                let (starts, end) = images.soon_on(&hosts, knowledge, &mut 0);
                assert_eq!(asked.end(at, &hosts, knowledge), end, "{text} with {release} on {fields}");
                assert_eq!(asked.starts(at, &hosts, knowledge), starts, "{text} with {release} on {fields}");
                if !kinds.contains(&end) {
                    kinds.push(end);
                }
            }
            assert!(fields.contains("K80") || kinds.len() > 1, "{kinds:?}");
        }
    }
}

#[test]
fn of_several_images_it_is_the_last_row_in_which_all_start() {
    let knowledge = Knowledge::built_in();
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
    let with = |cuda: &str, require: &str| {
        images(&format!(
            "{complete}cuda_runtime = \"{cuda}\"\n[env]\nNVIDIA_VISIBLE_DEVICES = \"all\"\n\
             NVIDIA_REQUIRE_DRIVER = \"{require}\"\n"
        ))
    };
    let pool = pool("gpu = \"T4\"\nlaunch = \"docker-gpus\"\ntoolkit = \"1.14.3\"");
    let release = |text: &str| text.parse::<DriverVersion>().expect("a release");
    // One that starts in two rows, one with a ceiling, one that starts from some release on, one that never does.
    let gap = with("11.4", "driver>=470,driver<471 driver>=535");
    let old = with("11.4", "driver>=470,driver<525");
    let new = with("12.4", "driver>=550");
    let never = with("11.4", "driver<100");
    let all = |list: &[&Images]| {
        let numbered: Vec<(&Images, usize)> = list.iter().enumerate().map(|(at, one)| (*one, at)).collect();
        least_of_all(&pool, &numbered, knowledge)
    };
    let found = all(&[&gap]).driver.expect("a release");
    assert!(release("535") <= found && found < release("536"), "not the row below the gap: {found}");
    let found = all(&[&gap, &old]).driver.expect("a release");
    assert!(release("470") <= found && found < release("471"), "both start in the lower row alone: {found}");
    let found = all(&[&gap, &new, &never]);
    assert!(found.driver.is_some_and(|driver| release("550") <= driver && driver < release("551")), "{found:?}");
    assert_eq!((found.never, found.open), (vec![2], Vec::new()));
    let found = all(&[&old, &new]);
    assert_eq!(found, OfAll::default(), "each starts with some release, and both with none");
    assert_eq!(all(&[&never]), OfAll { never: vec![0], ..OfAll::default() });
    assert_eq!(all(&[]), OfAll::default());
}

/// What else is in an image makes no other of it; all that a start-up looks at does.
#[test]
fn images_are_alike_whatever_else_is_in_them() {
    let of = |head: &str, packages: &str, files: &str| {
        let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
        images(&format!("{complete}{head}[packages.pip]\n{packages}\n{files}")).likeness()
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
