//! Images from files and engines: what skopeo and podman write, other builders' archives, and broken ones.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use imagelint::registry::{
    ImageSource, OpenedImages, Platform, PullError, PullOptions, PullProblem, PulledImage, Puller,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::oci_layout;

const NEEDS: &str = "these tests need the Debian packages skopeo and podman: tests/install-tools installs them";

fn open_with(text: &str, options: PullOptions) -> Result<OpenedImages, PullError> {
    Puller::new(options)?.open(&ImageSource::parse(text)?, &[])
}

fn open(text: &str) -> OpenedImages {
    open_with(text, PullOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fails(text: &str) -> PullError {
    let error = open_with(text, PullOptions::default()).err().unwrap_or_else(|| panic!("{text}: no error"));
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

/// The bytes of each layer.
fn layers(opened: &OpenedImages) -> Vec<Vec<u8>> {
    let read = |layer| {
        let mut bytes = Vec::new();
        opened.blobs.layer_reader(layer).expect("a reader").read_to_end(&mut bytes).expect("all bytes");
        bytes
    };
    opened.images[0].config.layers.iter().map(read).collect()
}

/// Names and what is in them.
type Files<'a> = &'a [(&'a str, &'a [u8])];

/// A tar archive of some files; a name that ends with `@` is a link to what is in it.
fn tar(files: Files) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in files {
        let link = name.strip_suffix('@');
        let mut header = [0_u8; 512];
        let name = link.unwrap_or(name);
        header[..name.len()].copy_from_slice(name.as_bytes());
        let size = if link.is_some() { 0 } else { bytes.len() };
        header[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        header[156] = if link.is_some() { b'2' } else { b'0' };
        if link.is_some() {
            header[157..157 + bytes.len()].copy_from_slice(bytes);
        }
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        archive.extend_from_slice(&header);
        if link.is_none() {
            archive.extend_from_slice(bytes);
        }
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("packing");
    packer.finish().expect("packing")
}

/// Two layers, the first of them larger than what is kept of a stream.
fn two_layers() -> [Vec<u8>; 2] {
    let noise: Vec<u8> = (0..3_000_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    [tar(&[("opt/noise", &noise)]), tar(&[("etc/os-release", b"ID=debian\n")])]
}

fn config(diff_ids: &[String]) -> Vec<u8> {
    let mut config = oci_layout::config("amd64");
    config["rootfs"]["diff_ids"] = json!(diff_ids);
    let created = "2026-01-01T00:00:00Z";
    config["created"] = json!(created);
    config["history"] = json!([{"created": created, "created_by": "COPY noise"},
        {"created": created, "created_by": "ENV", "empty_layer": true},
        {"created": created, "created_by": "COPY release"}]);
    config.to_string().into_bytes()
}

/// A folder with a layout `layout` of an image `one` of two layers.
fn sample() -> (TempDir, [Vec<u8>; 2]) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let layers = two_layers();
    let path = folder.path().join("layout");
    let about = oci_layout::blob(
        &path,
        "application/vnd.oci.image.config.v1+json",
        &config(&layers.each_ref().map(|layer| oci_layout::sha256(layer))),
    );
    let listed: Vec<Value> =
        layers.iter().map(|layer| oci_layout::blob(&path, "application/vnd.oci.image.layer.v1.tar", layer)).collect();
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": about, "layers": listed});
    let root = oci_layout::blob(&path, media_type, manifest.to_string().as_bytes());
    oci_layout::finish(&path, &[("one", root)]);
    (folder, layers)
}

fn skopeo(folder: &Path, to: &str) {
    let from = format!("oci:{}:one", folder.join("layout").display());
    let made = Command::new("skopeo")
        .args(["copy", "--quiet", "--insecure-policy", &from, to])
        .env("HOME", folder)
        .env("TMPDIR", folder)
        .output()
        .expect(NEEDS);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn archives_of_skopeo_give_config_and_layers_packed_or_not() {
    let (folder, expected) = sample();
    let path = |name: &str| folder.path().join(name).display().to_string();
    skopeo(folder.path(), &format!("docker-archive:{}:example.com/team/app:1", path("docker.tar")));
    skopeo(folder.path(), &format!("oci-archive:{}:one", path("oci.tar")));
    for name in ["docker.tar", "oci.tar"] {
        let bytes = fs::read(path(name)).expect(name);
        fs::write(path(&format!("{name}.gz")), gzip(&bytes)).expect("gzip");
        fs::write(path(&format!("{name}.zst")), zstd::encode_all(&bytes[..], 1).expect("zstd")).expect("zstd");
    }
    let docker = path("docker.tar");
    let oci = path("oci.tar");
    let names = [
        format!("docker-archive:{docker}"),
        format!("docker-archive:{docker}:example.com/team/app:1"),
        docker.clone(),
        format!("{docker}:example.com/team/app:1"),
        format!("docker-archive:{docker}.gz"),
        format!("{docker}.zst"),
        format!("oci-archive:{oci}"),
        format!("oci-archive:{oci}:one"),
        oci.clone(),
        format!("oci-archive:{oci}.gz:one"),
        format!("{oci}.zst"),
        path("layout"),
    ];
    for name in &names {
        let opened = open(name);
        let image = &opened.images[0];
        assert_eq!(image.config.variable("CUDA_VERSION"), Some("12.4.1"), "{name}");
        let makers: Vec<_> = image.config.layers.iter().map(|layer| layer.history).collect();
        assert_eq!(makers, [Some(0), Some(2)], "{name}");
        for (layer, bytes) in image.config.layers.iter().zip(layers(&opened)) {
            assert_eq!(oci_layout::sha256(&bytes), layer.digest, "{name}");
            assert_eq!(bytes.len() as u64, layer.size, "{name}");
        }
        let unpacked: Vec<Vec<u8>> = layers(&opened).iter().map(|bytes| unpacked(bytes)).collect();
        assert!(unpacked == expected, "{name}");
        let position = opened.blobs.layer_offset(&image.config.layers[0]);
        assert_eq!(position.is_some(), name.contains(".gz") || name.contains(".zst"), "{name}");
    }
    for name in [format!("docker-archive:{docker}:example.com/team/app:2"), format!("oci-archive:{oci}:two")] {
        let error = fails(&name);
        assert!(error.to_string().contains("it has no single image named"), "{error}");
        assert!(matches!(*error.problem, PullProblem::Layout { .. }), "{error}");
        assert!(error.to_string().contains("one of:"), "{error}");
    }
}

#[test]
fn skopeo_dir_image_opens_by_scheme_and_by_path() {
    let (folder, expected) = sample();
    let flat = folder.path().join("flat:1");
    skopeo(folder.path(), &format!("dir:{}", flat.display()));
    for name in [format!("dir:{}", flat.display()), flat.display().to_string()] {
        let opened = open(&name);
        let image = &opened.images[0];
        assert_eq!(image.config.variable("CUDA_VERSION"), Some("12.4.1"), "{name}");
        assert_eq!(image.manifest_digest, oci_layout::sha256(&fs::read(flat.join("manifest.json")).expect("manifest")));
        let found: Vec<Vec<u8>> = layers(&opened).iter().map(|bytes| unpacked(bytes)).collect();
        assert!(found == expected, "{name}");
    }
    let config = serde_json::from_slice::<Value>(&fs::read(flat.join("manifest.json")).expect("manifest"));
    let config = config.expect("JSON")["config"]["digest"].as_str().expect("a digest").replace("sha256:", "");
    fs::write(flat.join(config), "{}").expect("config");
    let error = fails(&format!("dir:{}", flat.display()));
    assert!(matches!(*error.problem, PullProblem::WrongDigest { .. } | PullProblem::WrongSize { .. }), "{error}");
    assert!(error.to_string().contains("dir:"), "{error}");
    fs::remove_file(flat.join("manifest.json")).expect("manifest");
    for name in [format!("dir:{}", flat.display()), "dir:/nowhere".to_owned(), "dir:".to_owned()] {
        assert!(
            ImageSource::parse(&name).is_err() || matches!(*fails(&name).problem, PullProblem::File { .. }),
            "{name}"
        );
    }
    assert!(
        ImageSource::parse(&flat.display().to_string())
            .is_ok_and(|source| matches!(source, ImageSource::Layout { .. }))
    );
}

#[test]
fn flat_folder_may_contain_an_index() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("layout");
    let index = oci_layout::index(&path);
    oci_layout::finish(&path, &[("many", index.clone())]);
    let to = folder.path().join("flat");
    let made = Command::new("skopeo")
        .args(["copy", "--quiet", "--insecure-policy", "--all", "--preserve-digests"])
        .args([format!("oci:{}:many", path.display()), format!("dir:{}", to.display())])
        .env("HOME", folder.path())
        .output()
        .expect(NEEDS);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (of_layout, flat) = (open(&format!("oci:{}:many", path.display())), open(&to.display().to_string()));
    assert!(flat.images.len() > 1 && flat.images[0].index_digest.as_deref() == index["digest"].as_str());
    let digests = |opened: &OpenedImages| -> Vec<String> {
        opened.images.iter().map(|image| image.config_digest.clone()).collect()
    };
    assert_eq!(digests(&flat), digests(&of_layout));
}

/// Skopeo packs the layers of an OCI archive.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).expect("gzip");
        return out;
    }
    bytes.to_vec()
}

fn written(files: Files) -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("x.tar");
    fs::write(&path, tar(files)).expect("archive");
    let text = format!("docker-archive:{}", path.display());
    (folder, text)
}

#[test]
fn packed_layers_are_known_by_their_name_or_by_their_sum() {
    let layer = two_layers()[1].clone();
    let packed = gzip(&layer);
    let (digest, diff_id) = (oci_layout::sha256(&packed), oci_layout::sha256(&layer));
    let named = format!("{}.tar.gz", digest.trim_start_matches("sha256:"));
    let by_diff_id = format!("{}.tar", diff_id.trim_start_matches("sha256:"));
    let config = config(std::slice::from_ref(&diff_id));
    for name in [named.as_str(), "layer.tar", by_diff_id.as_str()] {
        let manifest = json!([{"Config": "sha256:c", "RepoTags": null, "Layers": [name]}]).to_string();
        let files: Files = &[("sha256:c", &config), (name, &packed), ("manifest.json", manifest.as_bytes())];
        let (_folder, text) = written(files);
        let opened = open(&text);
        let found = &opened.images[0].config.layers[0];
        assert_eq!((&found.digest, found.media_type.ends_with("gzip")), (&digest, true), "{name}");
        assert!(layers(&opened)[0] == packed, "{name}");
    }
}

#[test]
fn links_between_layers_are_followed_and_never_for_ever() {
    let layer = two_layers()[1].clone();
    let config = config(&[oci_layout::sha256(&layer)]);
    let manifest = json!([{"Config": "c", "Layers": ["a/layer.tar"]}]).to_string();
    let (_folder, text) = written(&[
        ("a/layer.tar@", b"../b/layer.tar"),
        ("b/layer.tar", &layer),
        ("c", &config),
        ("manifest.json", manifest.as_bytes()),
    ]);
    assert!(layers(&open(&text))[0] == layer);
    let (_folder, text) = written(&[
        ("a/layer.tar@", b"../b/layer.tar"),
        ("b/layer.tar@", b"../a/layer.tar"),
        ("c", &config),
        ("manifest.json", manifest.as_bytes()),
    ]);
    assert!(matches!(*fails(&text).problem, PullProblem::File { .. }));
}

#[test]
fn every_broken_archive_is_an_error() {
    let layer = two_layers()[1].clone();
    let config = config(&[oci_layout::sha256(&layer)]);
    let manifest = |layers: Value| json!([{"Config": "c", "Layers": layers}]).to_string().into_bytes();
    let several = json!([{"Config": "c", "RepoTags": ["a:1"], "Layers": ["l"]},
        {"Config": "c", "RepoTags": ["b:1"], "Layers": ["l"]}]);
    let huge = vec![b' '; 5 << 20];
    let (one, two, none) = (manifest(json!(["l"])), manifest(json!(["l", "l"])), manifest(json!([])));
    let several = several.to_string().into_bytes();
    let cases: &[(&str, Files)] = &[
        ("nothing", &[]),
        ("no manifest", &[("c", &config), ("l", &layer)]),
        ("no config", &[("l", &layer), ("manifest.json", &one)]),
        ("no layer", &[("c", &config), ("manifest.json", &one)]),
        ("a layer too many", &[("c", &config), ("l", &layer), ("manifest.json", &two)]),
        ("a layer too few", &[("c", &config), ("l", &layer), ("manifest.json", &none)]),
        ("several images", &[("c", &config), ("l", &layer), ("manifest.json", &several)]),
        ("no image", &[("c", &config), ("l", &layer), ("manifest.json", b"[]")]),
        ("no JSON", &[("c", &config), ("l", &layer), ("manifest.json", b"[")]),
        ("a config that is none", &[("c", b"[]"), ("l", &layer), ("manifest.json", &one)]),
        ("a huge manifest", &[("c", &config), ("l", &layer), ("manifest.json", &huge)]),
        ("a broken index", &[("oci-layout", b"{}"), ("index.json", b"{}")]),
        ("an index that leads nowhere", &[("index.json", br#"{"manifests":[]}"#)]),
    ];
    for (name, files) in cases {
        let (folder, text) = written(files);
        let error = fails(&text);
        assert!(error.to_string().contains(&folder.path().display().to_string()), "{name}: {error}");
    }
    let (folder, text) = written(&[("c", &config), ("l", &layer), ("manifest.json", &one)]);
    assert_eq!(layers(&open(&text)), std::slice::from_ref(&layer));
    let path = folder.path().join("x.tar");
    let whole = fs::read(&path).expect("archive");
    for end in [0, 1, 300, 512, 700, 1500, 3000, whole.len() - 2100] {
        fs::write(&path, &whole[..end]).expect("archive");
        fails(&text);
        fs::write(&path, &gzip(&whole)[..end.min(200)]).expect("archive");
        fails(&text);
    }
    for bytes in [&b"\x28\xb5\x2f\xfdnothing"[..], b"\x1f\x8b\x08", b"PK\x03\x04", &[0; 4096]] {
        fs::write(&path, bytes).expect("archive");
        fails(&text);
    }
    for text in ["docker-archive:/nowhere.tar", "./nowhere.tar", "oci-archive:/dev/zero", "docker-archive:/tmp"] {
        assert!(matches!(*fails(text).problem, PullProblem::File { .. }), "{text}");
    }
}

#[test]
fn image_in_a_layout_is_selected_by_reference_or_index() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("several");
    let image = |variant: &str| {
        let mut config = oci_layout::config("amd64");
        config["config"]["Labels"] = json!({ "variant": variant });
        let about = oci_layout::blob(&path, "application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": about, "layers": []});
        oci_layout::blob(&path, media_type, manifest.to_string().as_bytes())
    };
    oci_layout::finish(&path, &[("team/app:1", image("first")), ("registry.example.com:5000/app:2", image("second"))]);
    let config = |opened: OpenedImages| opened.images[0].config_digest.clone();
    let by = |name: &str| config(open(&format!("oci:{}:{name}", path.display())));
    assert_ne!(by("@0"), by("@1"));
    assert_eq!((by("team/app:1"), by("registry.example.com:5000/app:2")), (by("@0"), by("@1")));
    for name in ["", ":@2", ":@", ":@-1", ":@x", ":team/app", ":team/app:2", ":1", ":app:2"] {
        let error = fails(&format!("oci:{}{name}", path.display()));
        assert!(matches!(*error.problem, PullProblem::Layout { .. }), "{name}: {error}");
    }
    let layer = two_layers()[1].clone();
    let of = |at: &str| {
        let mut config: Value = serde_json::from_slice(&config_of(&layer)).expect("JSON");
        config["author"] = json!(at);
        config.to_string().into_bytes()
    };
    let (first, second) = (of("first"), of("second"));
    let entries = json!([{"Config": "1", "RepoTags": ["a:1"], "Layers": ["l"]}, {"Config": "2", "Layers": ["l"]}]);
    let (_archive, text) =
        written(&[("1", &first), ("2", &second), ("l", &layer), ("manifest.json", entries.to_string().as_bytes())]);
    let digest = |name: &str| config(open(&format!("{text}:{name}")));
    assert_eq!((digest("@0"), digest("@1")), (oci_layout::sha256(&first), oci_layout::sha256(&second)));
    assert_eq!(digest("a:1"), digest("@0"));
    for name in ["", ":@2", ":@1x", ":b:1"] {
        assert!(matches!(*fails(&format!("{text}{name}")).problem, PullProblem::Layout { .. }), "{name}");
    }
}

fn config_of(layer: &[u8]) -> Vec<u8> {
    config(&[oci_layout::sha256(layer)])
}

/// A service of podman with its own store, ended with the test.
struct Podman {
    folder: TempDir,
    service: Child,
}

impl Podman {
    fn command(folder: &Path) -> Command {
        let mut command = Command::new("podman");
        let place = |name: &str| folder.join(name).display().to_string();
        command.args(["--root", &place("root"), "--runroot", &place("run"), "--storage-driver", "vfs"]);
        command.env("HOME", folder).env("TMPDIR", folder).stdin(Stdio::null());
        command
    }

    fn start(import: &Path) -> Self {
        let folder = tempfile::tempdir().expect("temporary folder");
        let mut load = Self::command(folder.path());
        let made = load.args(["load", "--quiet", "--input"]).arg(import).output().expect(NEEDS);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let socket = folder.path().join("podman.sock");
        let mut serve = Self::command(folder.path());
        let address = format!("unix://{}", socket.display());
        serve.args(["system", "service", "--time", "0", &address]).stdout(Stdio::null()).stderr(Stdio::null());
        let service = serve.spawn().expect(NEEDS);
        for _ in 0..400 {
            if socket.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        Self { folder, service }
    }

    fn options(&self) -> PullOptions {
        let mut options = PullOptions::default();
        let address = format!("unix://{}", self.folder.path().join("podman.sock").display());
        options.environment.container_host = Some(address.clone());
        options.environment.docker_host = Some(address);
        options
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

#[test]
fn podman_gives_the_same_image_through_its_socket() {
    let (folder, expected) = sample();
    let archive = folder.path().join("docker.tar");
    skopeo(folder.path(), &format!("docker-archive:{}:localhost/team/app:1", archive.display()));
    let podman = Podman::start(&archive);
    for name in ["podman:localhost/team/app:1", "docker-daemon:localhost/team/app:1", "docker:localhost/team/app:1"] {
        let opened = open_with(name, podman.options()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(opened.images[0].config.variable("CUDA_VERSION"), Some("12.4.1"));
        // Backwards too, which costs a pass for each.
        let backwards: Vec<Vec<u8>> = layers(&opened);
        assert!(backwards == expected, "{name}");
        let mut last = Vec::new();
        let layer = &opened.images[0].config.layers;
        opened.blobs.layer_reader(&layer[1]).expect("a reader").read_to_end(&mut last).expect("bytes");
        let mut first = Vec::new();
        opened.blobs.layer_reader(&layer[0]).expect("a reader").read_to_end(&mut first).expect("bytes");
        assert!([first, last] == expected, "{name}");
        // Asked about the image alone, the engine says the same of it, and sends no layer.
        let puller = Puller::new(podman.options()).expect("a puller");
        let source = ImageSource::parse(name).expect("a source");
        let glanced = puller.open_config(&source, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (whole, glanced_at) = (&opened.images[0], &glanced.images[0]);
        assert_eq!(glanced_at.config_digest, whole.config_digest, "{name}");
        assert_eq!(glanced_at.config.platform, whole.config.platform, "{name}");
        assert_eq!(glanced_at.config.env, whole.config.env, "{name}");
        assert_eq!(glanced_at.config.cmd, whole.config.cmd, "{name}");
        let commands = |image: &PulledImage| -> Vec<String> {
            image.config.history.iter().map(|step| step.created_by.clone()).collect()
        };
        assert_eq!(commands(glanced_at), commands(whole), "{name}");
        let diff_ids = |image: &PulledImage| -> Vec<Option<String>> {
            image.config.layers.iter().map(|layer| layer.diff_id.clone()).collect()
        };
        assert_eq!(diff_ids(glanced_at), diff_ids(whole), "{name}");
        let error = glanced.blobs.layer_reader(&glanced_at.config.layers[0]).err().expect("no layers").to_string();
        assert!(error.contains("provides image data only"), "{error}");
        let arm = [Platform::new("linux", "s390x")];
        let error = puller.open_config(&source, &arm).err().expect("no such platform");
        assert!(matches!(*error.problem, PullProblem::MissingPlatform { .. }), "{error}");
    }
    let error = open_with("podman:localhost/team/none:1", podman.options()).err().expect("no such image");
    assert!(matches!(*error.problem, PullProblem::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("localhost/team/none:1"), "{error}");
}

/// An engine that says these things about an image and has no archive of it; and what it was asked.
#[cfg(unix)]
fn engine(
    folder: &Path,
    json: &'static str,
    history: &'static str,
) -> (PullOptions, std::sync::mpsc::Receiver<String>) {
    let path = folder.join("engine.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let (tell, asked) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a call");
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap_or(0);
            let line = String::from_utf8_lossy(&request[..count]).lines().next().unwrap_or_default().to_owned();
            let body = if line.contains("/json ") { json } else { history };
            let answer = if line.contains("/get ") { "HTTP/1.0 500 No\r\n\r\n" } else { "HTTP/1.0 200 OK\r\n\r\n" };
            let _ = stream.write_all(format!("{answer}{body}").as_bytes());
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let mut options = PullOptions::default();
    options.environment.docker_host = Some(format!("unix://{}", path.display()));
    (options, asked)
}

#[cfg(unix)]
#[test]
fn config_query_exports_the_image_only_if_the_answer_is_invalid() {
    const ID: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let folder = tempfile::tempdir().expect("temporary folder");
    let about: &str = Box::leak(format!(r#"{{"Id":"{ID}","Os":"linux","Architecture":"amd64"}}"#).into_boxed_str());
    let glance = |json, history| {
        let place = tempfile::tempdir_in(folder.path()).expect("temporary folder");
        let (options, asked) = engine(place.path(), json, history);
        let source = ImageSource::parse("docker-daemon:a:1").expect("a source");
        let opened = Puller::new(options).expect("a puller").open_config(&source, &[]);
        let told: Vec<String> = asked.try_iter().filter_map(|line| line.split(' ').nth(1).map(str::to_owned)).collect();
        (opened, told)
    };
    let (opened, asked) = glance(about, "[]");
    assert_eq!(opened.expect("an answer").images[0].manifest_digest, ID);
    assert_eq!(asked, ["/images/a:1/json", "/images/a:1/history"]);
    for (json, history) in
        [("{}", "[]"), ("[1]", "[]"), (about, "{}"), (about, "[1]"), (r#"{"Id":"sha256:short"}"#, "[]")]
    {
        let (opened, asked) = glance(json, history);
        assert!(opened.is_err(), "{json} {history}");
        assert_eq!(asked.last().map(String::as_str), Some("/images/a:1/get"), "{json} {history}");
    }
}

#[cfg(unix)]
#[test]
fn unresponsive_engines_are_reported() {
    use std::os::unix::net::UnixListener;

    let folder = tempfile::tempdir().expect("temporary folder");
    let with = |host: String| {
        let mut options = PullOptions::default();
        options.limits.stall = Duration::from_millis(300);
        options.environment.docker_host = Some(host);
        open_with("docker-daemon:a:1", options).err().expect("an error")
    };
    for host in ["tcp://10.0.0.1:2375", "ssh://host", "unix://relative", "unix:///nowhere/docker.sock"] {
        let error = with(host.into());
        assert!(matches!(*error.problem, PullProblem::Engine { .. }), "{error}");
    }
    let answers: [&[u8]; 6] = [
        b"",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.0 500 Bad\r\n\r\n{\"message\":\"no\"}",
        b"HTTP/1.0 404 None\r\n\r\n{\"message\":\"no such image\"}",
        b"HTTP/1.0 200 OK\r\n\r\nno archive",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.sock"));
        let listener = UnixListener::bind(&path).expect("a socket");
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a call");
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(answer);
        });
        let error = with(format!("unix://{}", path.display()));
        assert!(error.to_string().contains("docker-daemon:a:1"), "{error}");
        server.join().expect("the server");
    }
    for image in ["a b", "a%0d", "a\r\nb", "a?x=1"] {
        let error = open_with(&format!("docker-daemon:{image}"), PullOptions::default()).err().expect("an error");
        assert!(matches!(*error.problem, PullProblem::Reference { .. }), "{error}");
    }
}
