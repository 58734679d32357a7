//! The smallest driver, against all releases tried in full.

use super::*;
use crate::describe::Description;
use crate::extract;
use crate::fleet;
use crate::fleet::GpuName;
use crate::source::SourceText;
use crate::source::Sources;

fn images(text: &str) -> Images {
    let description = Description::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let seen = extract::of_description(&description, None, None);
    let found = infer(&seen, "linux/amd64", None, Knowledge::built_in());
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
    let mut least = Least::Never;
    for driver in releases(pool, knowledge).into_iter().rev() {
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
