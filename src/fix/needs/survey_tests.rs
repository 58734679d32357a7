//! Tests that replays of distinguishable drivers give the results of all drivers.

use super::*;
use crate::describe::ImageDescription;
use crate::extract;
use crate::infer::infer_image_facts;
use crate::text::source::SourceText;

/// Infers the facts of an image description.
fn image(text: &str) -> ImageFacts {
    let description = ImageDescription::read(&SourceText::new("x.image.toml", text)).expect("a description");
    let seen = extract::observe_description(&description, None, None);
    infer_image_facts(&seen, "linux/amd64", None, Knowledge::built_in()).swap_remove(0)
}

/// Returns images whose start depends on releases within a driver branch.
fn images() -> Vec<ImageFacts> {
    let complete = "complete = [\"env\", \"packages\", \"files\", \"code\"]\n";
    let root = "\"/usr/local/cuda\" = { link = \"cuda-12.4\" }\n\"/etc/debian_version\" = {}\n";
    let compat = "\"/usr/local/cuda-12.4/compat/libcuda.so.550.54.15\"";
    let note = "{ elf_note = { cuda = \"12.4\", driver = [470, 535], device = [1, 2, 14] } }";
    [
        "cuda_runtime = \"12.4\"\n".to_owned(),
        "cuda_runtime = \"10.1\"\n".to_owned(),
        "cuda_runtime = \"9.2\"\n".to_owned(),
        "cuda_runtime = \"11.8\"\n[env]\nNVIDIA_REQUIRE_DRIVER = \"driver>=535.104.05,driver<550.90\"\n".to_owned(),
        format!("cuda_runtime = \"12.4\"\n[files]\n{root}{compat} = {note}\n"),
        format!("cuda_runtime = \"12.4\"\n[files]\n{root}{compat} = {{}}\n"),
        "cuda_runtime = \"12.4\"\n[files]\n\"/etc/debian_version\" = {}\n\
         \"/usr/lib/x86_64-linux-gnu/libcuda.so.535.129.03\" = {}\n"
            .to_owned(),
        "cuda_runtime = \"12.4\"\n[files]\n\"/lib/firmware/nvidia/550.54.15\" = {}\n".to_owned(),
    ]
    .map(|text| image(&format!("{complete}{text}")))
    .into()
}

#[test]
fn distinct_drivers_represent_all_drivers() {
    let knowledge = Knowledge::built_in();
    let drivers = all_driver_releases(knowledge);
    let maker = SurveyHostBuilder { platform: "linux/amd64", drivers: &drivers, as_of: None, knowledge };
    let (sources, images) = (Sources::default(), images());
    let telling: Vec<Vec<usize>> =
        images.iter().map(|image| distinct_driver_indices(image, &drivers, knowledge)).collect();
    let (mut several, mut total) = (0, 0);
    for kind in group_equivalent_gpus(knowledge).iter().step_by(7) {
        let mut ways = launch_setups(kind, knowledge);
        let oldest = knowledge.container_toolkits().first().map(|row| row.sample);
        ways.push(LaunchSetup { launch: Launch::DockerGpus, toolkit: oldest });
        for (way, hosts) in ways.into_iter().map(|way| (way, maker.hosts(kind, way))) {
            for (image, telling) in images.iter().zip(&telling) {
                for component in &image.components {
                    let search = ComponentSurvey {
                        image,
                        component,
                        telling,
                        sources: &sources,
                        day: knowledge.newest_source_date(),
                        knowledge,
                    };
                    let all = search.driver_runs_at(&hosts, 0..hosts.len());
                    assert_eq!(search.driver_runs(&hosts), all, "{} {way:?} {:?}", kind.capability, image.env);
                    (several, total) = (several + usize::from(all.len() > 2), total + 1);
                }
            }
        }
    }
    assert!(several > total / 4, "{several} of {total} end in more ways than two");
    assert!(telling.iter().all(|places| places.len() < drivers.len()), "nothing is left out");
}

/// Releases between the ends of a branch are left out, unless the image names them.
#[test]
fn a_release_in_the_midst_of_a_branch_is_among_them() {
    let knowledge = Knowledge::built_in();
    let drivers = all_driver_releases(knowledge);
    let places = |text: &str| distinct_driver_indices(&image(text), &drivers, knowledge);
    let release: DriverVersion = "535.129.03".parse().expect("a release");
    let at = drivers.binary_search(&release).expect("a known release");
    let plain = "complete = [\"env\", \"files\"]\ncuda_runtime = \"12.4\"\n";
    assert!(!places(plain).contains(&at), "listed without a reason");
    for more in [
        "[env]\nNVIDIA_REQUIRE_DRIVER = \"driver>=535.129.03\"\n",
        "[files]\n\"/lib/firmware/nvidia/535.129.03\" = {}\n",
    ] {
        assert!(places(&format!("{plain}{more}")).contains(&at), "{more}");
    }
}
