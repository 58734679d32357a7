//! `imagelint scan` of images with their layers: what files hold decides, and the evidence names layer, path and step.

use crate::support::{elf, image, oci_layout, registry, test_repository};
mod builds;
mod missing_libraries;
mod needed_libraries;
mod python;
mod unreadable_layers;
mod workload_launch;

use std::fs;

use elf::{Elf, Entry, container, note, ptx, sass};
use image::{Image, Layer};
use serde_json::Value;
use test_repository::{TestRepository, code, fates, out};

const FLEET: &str = r#"[[pool]]
name = "a100"
gpu = "A100"
driver = "570.211.01"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"

[[pool]]
name = "h100"
gpu = "H100"
driver = "570.211.01"
platform = "linux/amd64"
launch = "docker-gpus"
toolkit = "1.17.8"
"#;
const SITE: &str = "/opt/venv/lib/python3.11/site-packages";
const GPUS: &str = "NVIDIA_VISIBLE_DEVICES=all";
const COMPUTE: &str = "NVIDIA_DRIVER_CAPABILITIES=compute,utility";
const PATH: &str = "PATH=/opt/venv/bin:/usr/bin:/bin";

/// A library with one container.
fn library(entries: &[Entry]) -> Vec<u8> {
    Elf::default().registered(&[container(entries)]).bytes()
}

/// A system with glibc, of Debian's family.
fn debian() -> Layer {
    Layer::new()
        .text("/etc/debian_version", "12.5\n")
        .text("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n")
        .text("/etc/ld.so.cache", "glibc-ld.so.cache1.1")
        .text("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
        .text("/var/lib/dpkg/status", "Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\n\n")
}

/// torch in an environment: its record, what it says it was built with, and its library.
fn torch(layer: Layer, site: &str, version: &str, cuda: &str, entries: &[Entry]) -> Layer {
    let plain = version.split('+').next().unwrap_or(version);
    let metadata = format!("Metadata-Version: 2.1\nName: torch\nVersion: {plain}\n");
    let built = format!("__version__ = '{version}'\ncuda: Optional[str] = '{cuda}'\nhip: Optional[str] = None\n");
    layer
        .text(&format!("{site}/torch-{plain}.dist-info/METADATA"), &metadata)
        .text(&format!("{site}/torch/version.py"), &built)
        .file(&format!("{site}/torch/lib/libtorch_cuda.so"), &library(entries))
}

/// A folder with a layout of images by their names, and a fleet.
fn repository(images: &[(&str, &Image)]) -> TestRepository {
    let repository = TestRepository::empty();
    repository.file("fleet.toml", FLEET);
    let folder = repository.path("images");
    let roots: Vec<(&str, Value)> = images.iter().map(|(name, image)| (*name, image.write(&folder))).collect();
    oci_layout::finish(&folder, &roots);
    repository
}

fn scan(image: &Image) -> Value {
    repository(&[("one", image)]).json(&["scan", "oci:images:one"])
}

/// Fate and outcome of the image on a pool.
fn fate(report: &Value, pool: &str) -> String {
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts");
    let of_image = |verdict: &&Value| verdict["pool"] == pool && verdict["component"].is_null();
    let verdict = verdicts.iter().find(of_image).expect(pool);
    let outcome = verdict["outcome"].as_str().map(|outcome| format!(" {outcome}")).unwrap_or_default();
    format!("{}{outcome}", verdict["fate"].as_str().expect("a fate"))
}

fn both(report: &Value) -> [String; 2] {
    [fate(report, "a100"), fate(report, "h100")]
}

fn facts(report: &Value) -> &[Value] {
    report["subjects"][0]["facts"].as_array().expect("facts")
}

const STARTS: &str = "starts";
const NO_CODE: &str = "fails no-kernel-image";

/// An image of a system and torch with machine code for these GPUs.
fn with_torch(entries: &[Entry]) -> Image {
    Image::new(&[GPUS, COMPUTE, PATH])
        .layer("RUN debootstrap", debian())
        .layer("RUN pip install torch", torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", entries))
}

#[test]
fn gpu_code_in_the_file_decides_over_the_database() {
    assert_eq!(both(&scan(&with_torch(&[sass(80, ' '), sass(90, ' ')]))), [STARTS, STARTS]);
    let image = with_torch(&[sass(80, ' ')]);
    let report = scan(&image);
    assert_eq!(both(&report), [STARTS, NO_CODE], "{report:#}");
    let subject = &report["subjects"][0];
    assert_eq!(subject["inspected"]["depth"], "layers");
    let found = subject["findings"].to_string();
    let at = format!("{}:{SITE}/torch/lib/libtorch_cuda.so", image.digest(1));
    assert!(found.contains(&at), "{at} in {found}");
    assert_eq!(both(&scan(&with_torch(&[ptx(80, (8, 4))]))), [STARTS, STARTS]);
    assert_eq!(both(&scan(&with_torch(&[sass(90, 'a')]))), [NO_CODE, STARTS]);
}

#[test]
fn report_states_the_inspected_size_and_why_names_the_layer() {
    let image = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("one", &image)]);
    let text = out(&repository.run(&["scan", "oci:images:one"]));
    assert!(text.contains("layers 2 of 2, "), "{text}");
    assert!(!text.contains("layers were not read"), "{text}");
    let text = out(&repository.run(&["scan", "--why=full", "--pool", "h100", "oci:images:one"]));
    let digest = image.digest(1);
    let digest = digest.get(..19).expect("a digest");
    let told = format!("{SITE}/torch/lib/libtorch_cuda.so in layer {digest}, made by `RUN pip install torch`");
    assert!(text.contains(&told), "{told} in {text}");
    let config = out(&repository.run(&["scan", "--depth", "config", "oci:images:one"]));
    assert!(config.contains("config only: layers were not read"), "{config}");
}

#[test]
fn files_removed_by_a_later_layer_do_not_count() {
    let gone = with_torch(&[sass(80, ' ')]).layer("RUN rm", Layer::new().without(SITE));
    let report = scan(&gone);
    let keys: Vec<&str> = facts(&report).iter().filter_map(|fact| fact["key"].as_str()).collect();
    assert!(!keys.iter().any(|key| key.contains("torch")), "{keys:?}");
    assert_ne!(fate(&report, "h100"), NO_CODE);
    let other = torch(
        Layer::new().without(&format!("{SITE}/torch-2.6.0.dist-info")),
        SITE,
        "2.7.1+cu126",
        "12.6",
        &[sass(90, ' ')],
    );
    let image = with_torch(&[sass(80, ' ')]).layer("RUN pip install -U torch", other);
    let report = scan(&image);
    assert_eq!(both(&report), [NO_CODE, STARTS], "{report:#}");
    let facts = report["subjects"][0]["facts"].to_string();
    assert!(facts.contains("2.7.1") && !facts.contains("2.6.0"), "{facts}");
}

#[test]
fn an_image_without_anything_for_gpus_has_nothing_to_judge() {
    let plain =
        Image::new(&["PATH=/usr/bin:/bin"]).layer("ADD rootfs", debian().file("/bin/ls", &Elf::default().bytes()));
    let report = scan(&plain);
    assert_eq!(report["subjects"][0]["gpu_content"], false, "{report:#}");
    let cpu = Image::new(&[PATH]).layer("ADD rootfs", debian()).layer(
        "RUN pip install torch",
        Layer::new().text(
            &format!("{SITE}/torch/version.py"),
            "__version__ = '2.6.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n",
        ),
    );
    let report = scan(&cpu);
    assert_eq!(report["subjects"][0]["gpu_content"], false, "{report:#}");
}

#[test]
fn a_build_without_a_known_index_is_known_by_its_local_version() {
    let built = torch(Layer::new(), SITE, "2.3.0a0+ebedce2", "12.3", &[sass(80, ' '), ptx(90, (8, 3))]);
    let image = Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian()).layer("RUN make", built);
    let report = scan(&image);
    assert_eq!(both(&report), [STARTS, STARTS], "{report:#}");
    let facts = report["subjects"][0]["facts"].to_string();
    assert!(facts.contains("12.3"), "{facts}");
}

#[test]
fn environment_of_the_started_interpreter_counts() {
    let other = "/srv/other/lib/python3.11/site-packages";
    let two = || {
        let layer = torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", &[sass(80, ' '), sass(90, ' ')]);
        torch(layer, other, "2.1.0+cu118", "11.8", &[sass(80, ' ')])
    };
    let python = |layer: Layer| {
        let layer = layer.text("/opt/venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.9\n");
        layer.link("/opt/venv/bin/python", "/usr/bin/python3.11").link("/opt/venv/bin/python3", "python")
    };
    let image = |env: &[&str], layer| Image::new(env).layer("ADD rootfs", debian()).layer("RUN pip install", layer);
    let known = image(&[GPUS, COMPUTE, PATH], python(two())).starts(&["python", "serve.py"]);
    assert_eq!(both(&scan(&known)), [STARTS, STARTS]);
    let open = scan(&image(&[GPUS, COMPUTE], two()));
    assert_eq!(fate(&open, "h100"), "undetermined", "{open:#}");
    assert!(open.to_string().contains("several environments contain torch"), "{open:#}");
}

#[test]
fn driver_libraries_are_recognized_by_path_and_elf_note() {
    let baked = |path: &str| {
        with_torch(&[sass(80, ' '), sass(90, ' ')]).layer("COPY . /", Layer::new().file(path, &Elf::default().bytes()))
    };
    let report = scan(&baked("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"));
    assert!(report["subjects"][0]["facts"].to_string().contains("libcuda.so.580.65.06"), "{report:#}");
    assert_ne!(both(&report), [STARTS, STARTS], "{report:#}");

    let text = r#"{"minimum_cuda_version":"13.0"}"#;
    let noted = Elf::default().noted(note("NVIDIA Corporation", text, 4), 4).bytes();
    let compat = Layer::new()
        .file("/usr/local/cuda-13.0/compat/libcuda.so.580.82.07", &noted)
        .link("/usr/local/cuda-13.0/compat/libcuda.so.1", "libcuda.so.580.82.07")
        .link("/usr/local/cuda", "/usr/local/cuda-13.0");
    let report = scan(&with_torch(&[sass(80, ' '), sass(90, ' ')]).layer("RUN apt-get install cuda-compat", compat));
    let facts = report["subjects"][0]["facts"].as_array().expect("facts").iter();
    let compat: Vec<&Value> = facts.filter(|fact| fact["key"] == "image.compat").collect();
    assert!(format!("{compat:?}").contains("libcuda.so.580.82.07"), "{report:#}");
}

#[test]
fn broken_layer_makes_its_contents_unknown_and_keeps_other_images() {
    let whole = with_torch(&[sass(80, ' '), sass(90, ' ')]);
    let broken = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("whole", &whole), ("broken", &broken)]);
    let digest = broken.digest(1);
    let blob = repository.path("images/blobs/sha256").join(digest.trim_start_matches("sha256:"));
    let mut bytes = fs::read(&blob).expect("the layer");
    let last = bytes.len() - 600;
    bytes[last] ^= 1;
    fs::write(&blob, bytes).expect("the layer");
    let report = repository.json(&["scan", "oci:images:broken", "oci:images:whole"]);
    let subjects = report["subjects"].as_array().expect("subjects");
    assert_eq!(subjects.len(), 2, "{report:#}");
    let of = |name: &str| subjects.iter().find(|subject| subject["name"] == name).expect(name);
    let notes = of("oci:images:broken")["inspected"]["notes"].to_string();
    assert!(notes.contains("layers 1 of 2") && notes.contains("wrong digest"), "{notes}");
    let verdicts = of("oci:images:broken")["verdicts"].to_string();
    assert!(!verdicts.contains("\"fails\""), "{verdicts}");
    let verdicts = of("oci:images:whole")["verdicts"].to_string();
    assert!(verdicts.contains("\"starts\"") && !verdicts.contains("undetermined"), "{verdicts}");
}

#[test]
fn oversized_layers_are_skipped_and_named() {
    let image = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("one", &image)]);
    let report = repository.json(&["scan", "--max-layer-bytes", "3", "oci:images:one"]);
    let notes = report["subjects"][0]["inspected"]["notes"].to_string();
    assert!(
        notes.contains("layers 0 of 2") && notes.contains("more than the limit of 3 bytes; raise --max-layer-bytes"),
        "{notes}"
    );
    assert_ne!(fate(&report, "h100"), STARTS, "{report:#}");
    assert_ne!(fate(&report, "h100"), NO_CODE, "{report:#}");
    let report = repository.json(&["scan", "--max-layer-bytes", "1GB", "oci:images:one"]);
    assert_eq!(fate(&report, "h100"), NO_CODE);
    for wrong in ["many", "1XB", "-1", "99999999999GB"] {
        assert_eq!(
            code(&repository.run(&["scan", &format!("--max-layer-bytes={wrong}"), "oci:images:one"])),
            2,
            "{wrong}"
        );
    }
}

/// A foreign layer is left out like one that is too large: with a note, and without an error of the image.
#[test]
fn a_foreign_layer_is_left_out_and_named() {
    let image = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("one", &image)]);
    let folder = repository.path("images");
    let read = |digest: &str| {
        let path = folder.join("blobs/sha256").join(digest.trim_start_matches("sha256:"));
        serde_json::from_slice::<Value>(&fs::read(path).expect("a blob")).expect("JSON")
    };
    let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json")).expect("an index")).expect("JSON");
    let mut manifest = read(index["manifests"][0]["digest"].as_str().expect("a digest"));
    let layers = manifest["layers"].as_array_mut().expect("layers");
    let last = layers.last_mut().expect("a layer");
    let gone =
        folder.join("blobs/sha256").join(last["digest"].as_str().expect("a digest").trim_start_matches("sha256:"));
    let bytes = fs::read(&gone).expect("the layer");
    last["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip".into();
    last["urls"] = serde_json::json!(["https://mirror.example/layer"]);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = oci_layout::blob(&folder, media_type, manifest.to_string().as_bytes());
    oci_layout::finish(&folder, &[("one", manifest)]);
    let whole = repository.json(&["scan", "--no-cache", "oci:images:one"]);
    fs::remove_file(&gone).expect("a file");
    let done = repository.run(&["scan", "--no-cache", "--format", "json", "oci:images:one"]);
    let report: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert!(code(&done) != 2 && report["errors"] == serde_json::json!([]), "{report:#}");
    let notes = report["subjects"][0]["inspected"]["notes"].to_string();
    assert!(
        notes.contains("layers 1 of 2") && notes.contains("a foreign layer") && notes.contains("mirror.example"),
        "{notes}"
    );
    assert_ne!(fate(&report, "h100"), NO_CODE, "{report:#}");
    assert_ne!(fate(&report, "h100"), STARTS, "{report:#}");
    // One that is there is read as any other.
    fs::write(&gone, bytes).expect("a file");
    assert_eq!(fate(&whole, "h100"), NO_CODE, "{whole:#}");
}

#[test]
fn saved_report_and_description_have_the_verdicts_of_the_image() {
    let image = with_torch(&[sass(80, ' '), sass(86, ' ')]);
    let repository = repository(&[("one", &image)]);
    let report = repository.json(&["scan", "oci:images:one"]);
    repository.file("saved.json", &report.to_string());
    let again = repository.json(&["check", "saved.json"]);
    assert_eq!(fates(&again), fates(&report));
    let described = out(&repository.run(&["describe", "oci:images:one"]));
    assert!(described.contains("libtorch_cuda.so") && described.contains("sm_86"), "{described}");
    repository.file("one.image.toml", &described);
    let of_description = repository.json(&["check", "one.image.toml"]);
    assert_eq!(fates(&of_description), fates(&report), "{described}");
}

/// A program of the image's own, which asks for the CUDA runtime.
fn server(runpath: Option<&'static str>) -> Image {
    let program = Elf { needed: vec!["libcudart.so.12", "libc.so.6"], runpath, ..Elf::default() };
    let program = program.registered(&[container(&[sass(80, ' '), ptx(80, (8, 4))])]).bytes();
    let system = debian().file("/lib/x86_64-linux-gnu/libc.so.6", &Elf::default().bytes());
    let image = Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", system);
    image.layer("COPY server /app", Layer::new().file("/app/bin/server", &program)).starts(&["/app/bin/server"])
}

fn with_runtime(image: Image, folder: &str) -> Image {
    let file = format!("{folder}/libcudart.so.12.4.127");
    let link = format!("{folder}/libcudart.so.12");
    image.layer("COPY lib", Layer::new().file(&file, &Elf::default().bytes()).link(&link, "libcudart.so.12.4.127"))
}

#[test]
fn program_libraries_are_searched_in_runpath_and_loader_path() {
    let report = scan(&server(None));
    assert_eq!(both(&report), ["fails library-missing", "fails library-missing"], "{report:#}");
    assert!(report["subjects"][0]["findings"].to_string().contains("libcudart.so.12"), "{report:#}");
    assert!(!report.to_string().contains("libc.so.6"), "{report:#}");
    for (runpath, folder, unseen) in [
        (None, "/usr/lib/x86_64-linux-gnu", false),
        (Some("$ORIGIN/../lib"), "/app/lib", false),
        (Some("/app/lib:/opt"), "/app/lib", false),
        (Some("${ORIGIN}/../lib"), "/app/lib", false),
        (Some("${ORIGIN}/../lib64"), "/app/lib", true),
        (Some("$ORIGIN/../lib64"), "/app/lib", true),
        (None, "/app/lib", true),
    ] {
        let report = scan(&with_runtime(server(runpath), folder));
        assert_eq!(fate(&report, "h100"), STARTS, "{runpath:?} {folder}: {report:#}");
        let told = report["subjects"][0]["verdicts"][0]["not_seen"].to_string();
        assert_eq!(told.contains("libraries that the image needs"), unseen, "{runpath:?} {folder}: {told}");
    }
}

#[test]
fn cuda_libraries_are_recognized_by_file_name_and_soname() {
    let own = |soname| Elf { soname: Some(soname), ..Elf::default() }.bytes();
    let lib = "/usr/local/cuda-12.4/lib64";
    let wheel = format!("{SITE}/torch/lib");
    let layer = Layer::new()
        .file(&format!("{lib}/libcudart.so.12.4.127"), &own("libcudart.so.12"))
        .file(&format!("{lib}/libnvrtc.so.12"), &Elf::default().bytes())
        .file(&format!("{wheel}/libcudart-d0da41ae.so.11.0"), &own("libcudart-d0da41ae.so.11.0"))
        .file("/opt/vendor/libfast.so", &own("libcublas.so.12"))
        .file("/opt/vendor/libother.so", &own("libother.so.1"));
    let image = Image::new(&[GPUS, COMPUTE, PATH]).layer("ADD rootfs", debian()).layer("RUN install", layer);
    let (digest, report) = (image.digest(1), scan(&image));
    let told = |path: &str| facts(&report).iter().find(|fact| fact["key"] == format!("file.{path}"));
    for (path, value) in [
        (format!("{lib}/libcudart.so.12.4.127"), "present, soname libcudart.so.12"),
        (format!("{lib}/libnvrtc.so.12"), "present"),
        (format!("{wheel}/libcudart-d0da41ae.so.11.0"), "present, soname libcudart-d0da41ae.so.11.0"),
        ("/opt/vendor/libfast.so".to_owned(), "present, soname libcublas.so.12"),
    ] {
        let fact = told(&path).unwrap_or_else(|| panic!("{path}: {report:#}"));
        assert_eq!(fact["value"], value, "{path}");
        assert_eq!(fact["origins"][0]["path"], format!("{digest}:{path}"));
        assert_eq!(fact["origins"][0]["made_by"], "RUN install");
    }
    assert!(told("/opt/vendor/libother.so").is_none());
}

#[test]
fn relocatable_ptx_makes_the_verdict_unknown() {
    let linked = |parts: &[Entry]| {
        let library =
            Elf::default().registered(&[container(&[sass(80, ' ')])]).relocatable(&[container(parts)]).bytes();
        Image::new(&[GPUS, COMPUTE, PATH, "CUDA_VERSION=12.4.1"])
            .layer("ADD rootfs", debian())
            .layer("COPY app", Layer::new().file("/app/server", &library))
            .starts(&["/app/server"])
    };
    assert_eq!(both(&scan(&linked(&[ptx(80, (8, 4))]))), [STARTS, "undetermined"]);
    // Machine code of parts is of no use before it is linked, and neither is PTX for another GPU.
    assert_eq!(both(&scan(&linked(&[sass(90, ' ')]))), [STARTS, NO_CODE]);
    assert_eq!(both(&scan(&linked(&[ptx(100, (8, 7))]))), [STARTS, NO_CODE]);
}

#[test]
fn no_single_runtime_selected_library_decides() {
    let library = |entries: &[Entry]| library(entries);
    let site = |layer: Layer| {
        let layer = layer.text(&format!("{SITE}/kernels-1.0.dist-info/METADATA"), "Name: kernels\nVersion: 1.0\n");
        let layer = layer.file(&format!("{SITE}/kernels/_sm80.so"), &library(&[sass(80, ' ')]));
        layer.file(&format!("{SITE}/kernels/_sm90.so"), &library(&[sass(90, 'a')]))
    };
    let alone = Image::new(&[GPUS, COMPUTE, PATH, "CUDA_VERSION=12.4.1"])
        .layer("ADD rootfs", debian())
        .layer("RUN pip install kernels", site(Layer::new()));
    assert_eq!(both(&scan(&alone)), ["undetermined", "undetermined"]);
    let beside = with_torch(&[sass(80, ' '), sass(90, ' ')]).layer("RUN pip install kernels", site(Layer::new()));
    assert_eq!(both(&scan(&beside)), [STARTS, STARTS]);
}

#[test]
fn every_image_source_yields_the_same_facts() {
    let image = with_torch(&[sass(80, ' ')]);
    let repository = repository(&[("one", &image)]);
    let mut archive = tar::Builder::new(fs::File::create(repository.path("image.tar")).expect("a file"));
    archive.append_dir_all(".", repository.path("images")).expect("an archive");
    archive.finish().expect("an archive");
    image.save(&repository.path("saved.tar"));
    let registry = registry::Registry::open();
    registry.push(&repository.path("images"), "one", "app:1", None);
    let name = format!("{}/app:1", registry.host());
    let expected = fates(&repository.json(&["scan", "oci:images:one"]));
    assert!(expected.iter().any(|fate| fate.contains("no-kernel-image")), "{expected:?}");
    for source in ["oci-archive:image.tar:one", "docker-archive:saved.tar", "./images:one", &name] {
        let report = repository.json(&["scan", source]);
        assert_eq!(fates(&report), expected, "{source}: {report:#}");
        let notes = report["subjects"][0]["inspected"]["notes"].to_string();
        assert!(notes.contains("layers 2 of 2"), "{source}: {notes}");
    }
}

#[test]
fn ptx_version_states_the_compiler_of_a_statically_linked_runtime() {
    let linked_in = |entries: &[Entry]| {
        Image::new(&[GPUS, COMPUTE, PATH])
            .layer("ADD rootfs", debian())
            .layer("COPY app", Layer::new().file("/app/server", &library(entries)))
            .starts(&["/app/server"])
    };
    let told = |report: &Value| {
        let of = |fact: &&Value| fact["key"] == "cuda.cuda" && fact["state"] == "known";
        facts(report).iter().find(of).map(|fact| fact["value"].as_str().unwrap_or_default().to_owned())
    };
    let report = scan(&linked_in(&[sass(80, ' '), ptx(80, (8, 4))]));
    assert_eq!((both(&report), told(&report).as_deref()), ([STARTS.to_owned(), STARTS.to_owned()], Some("12.4")));
    let report = scan(&linked_in(&[sass(80, ' '), ptx(80, (9, 0))]));
    assert_eq!(
        (fate(&report, "h100"), told(&report).as_deref()),
        ("fails insufficient-driver".to_owned(), Some("13.0"))
    );
    // Machine code alone, and PTX of a version that the tables do not have, tell nothing.
    for entries in [&[sass(80, ' '), sass(90, ' ')][..], &[sass(80, ' '), ptx(80, (99, 0))]] {
        let report = scan(&linked_in(entries));
        assert_eq!((fate(&report, "a100"), told(&report)), ("undetermined".to_owned(), None), "{report:#}");
    }
}

#[test]
fn history_is_used_only_for_skipped_layers() {
    let step = "RUN /bin/sh -c pip install torch==2.1.0 # buildkit";
    let large = |layer: Layer| layer.text("/opt/large", &"x".repeat(40_000));
    let lower = || Image::new(&[GPUS, COMPUTE, PATH]).layer(step, large(debian()));
    let scanned = |image: &Image, more: &[&str]| {
        let repository = repository(&[("one", image)]);
        let report = repository.json(&[&["scan", "oci:images:one"], more].concat());
        let of = |fact: &&Value| fact["key"] == "torch.version" && fact["state"] == "known";
        let version = facts(&report).iter().find(of).map(|fact| fact["value"].as_str().unwrap_or_default().to_owned());
        (version, report)
    };
    let limit = ["--max-layer-bytes", "30kB"];
    assert_eq!(scanned(&lower(), &[]).0, None);
    assert_eq!(scanned(&lower(), &limit).0.as_deref(), Some("2.1.0"));
    let upper = || torch(Layer::new(), SITE, "2.6.0+cu124", "12.4", &[sass(80, ' ')]);
    let both = lower().layer("COPY venv", upper());
    assert_eq!(scanned(&both, &limit).0.as_deref(), Some("2.6.0"));
    // A layer that was left out may replace files of lower layers.
    let above = Image::new(&[GPUS, COMPUTE, PATH]).layer("COPY venv", upper()).layer("COPY big", large(Layer::new()));
    let (version, report) = scanned(&above, &limit);
    assert_eq!(version, None);
    assert_eq!(fate(&report, "h100"), "undetermined");
    assert!(report.to_string().contains("was not inspected and may replace it"), "{report:#}");
}
