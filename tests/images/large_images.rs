//! `imagelint scan` on images that are large or made to use up memory, under a hard limit of the system on the memory
//! that it may ask for. Layers are made as they are sent; none is ever in memory or on disk as a whole.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

use build::{Archive, Pieces, digest, gzip, header};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::layer_build as build;
use crate::support::program::imagelint_program;

/// The most memory of a scan in addition to its own code: 20 MiB that every run needs, 16 for the layers of
/// an image (`MAX_IMAGE_MEMORY`), 8 for the layer that is being read (`LayerLimits::kept`), and 8 for another one that
/// is still being written to the cache. Measured in the worst case below: 38 to 50 MiB, by how the two overlap.
const MOST_MEMORY: u64 = 56 << 20;
/// What it may ask the system for: that, the stacks of threads, of which little is used, and the address space that
/// the allocator reserves in steps of 32 MiB.
const MOST_ASKED: u64 = 160 << 20;
const GIB: u64 = 1 << 30;
const FLEET: &str = "[[pool]]\nname = \"h100\"\ngpu = \"H100\"\ndriver = \"550.54.15\"\ntoolkit = \"1.17.8\"\n";

type Make = Arc<dyn Fn() -> Box<dyn Read> + Send + Sync>;

/// Bytes that a registry has.
#[derive(Clone)]
struct Blob {
    digest: String,
    size: u64,
    make: Make,
}

impl Blob {
    fn new(make: impl Fn() -> Box<dyn Read> + Send + Sync + 'static) -> Self {
        let (digest, size) = digest(make());
        Self { digest, size, make: Arc::new(make) }
    }

    fn of(bytes: Vec<u8>) -> Self {
        let bytes = Arc::new(bytes);
        Self::new(move || Box::new(io::Cursor::new(bytes.as_ref().clone())))
    }
}

/// A registry with one image, on a free port of this machine, ended with the test.
struct Registry {
    port: u16,
    stop: Arc<AtomicBool>,
}

impl Registry {
    fn start(layers: Vec<Blob>) -> Self {
        let diffs = vec![format!("sha256:{}", "0".repeat(64)); layers.len()];
        let config = json!({"os": "linux", "architecture": "amd64", "rootfs": {"type": "layers", "diff_ids": diffs}});
        let config = Blob::of(config.to_string().into_bytes());
        let about = |blob: &Blob, kind: &str| {
            let kind = format!("application/vnd.oci.image.{kind}");
            json!({"mediaType": kind, "digest": blob.digest, "size": blob.size})
        };
        let listed: Vec<Value> = layers.iter().map(|layer| about(layer, "layer.v1.tar+gzip")).collect();
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": kind, "config": about(&config, "config.v1+json"),
            "layers": listed});
        let manifest = Blob::of(manifest.to_string().into_bytes());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let stop = Arc::new(AtomicBool::new(false));
        let ended = stop.clone();
        let blobs: Arc<Vec<Blob>> = Arc::new([layers, vec![config, manifest.clone()]].concat());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                let (blobs, manifest) = (blobs.clone(), manifest.clone());
                thread::spawn(move || serve(&stream, &blobs, &manifest));
            }
        });
        Self { port, stop }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// Answers one request; a client that hangs up ends it.
fn serve(mut stream: &TcpStream, blobs: &[Blob], manifest: &Blob) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(line) = lines.next() else { return };
    // The rest of the request.
    let _ = lines.take_while(|line| !line.is_empty()).count();
    let found = if line.contains("/manifests/") {
        Some(manifest)
    } else {
        blobs.iter().find(|blob| line.contains(&blob.digest))
    };
    let Some(blob) = found else {
        let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    };
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n", blob.size);
    let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes());
    let _ = io::copy(&mut (blob.make)(), &mut stream);
}

/// What a scan printed, and the most memory it had in use.
fn scan(layers: Vec<Blob>) -> (Output, u64) {
    let registry = Registry::start(layers);
    let folder = tempfile::tempdir().expect("temporary folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("tmp")).expect("a folder");
    let outcome = limited(folder.path(), &["scan", &format!("127.0.0.1:{}/a/b:c", registry.port)]);
    assert_eq!(fs::read_dir(at("tmp")).expect("a folder").count(), 0, "a temporary file is left");
    outcome
}

/// What a run in a folder printed under the limit, and the most memory it had in use.
fn limited(folder: &Path, arguments: &[&str]) -> (Output, u64) {
    let at = |name: &str| folder.join(name);
    fs::write(at("fleet.toml"), FLEET).expect("fleet.toml");
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &(MOST_ASKED >> 10).to_string()])
        .arg(imagelint_program())
        .args(arguments)
        .args(["--fail-on", "never", "--format", "json"])
        .arg("--fleet")
        .arg(at("fleet.toml"))
        .env("TMPDIR", at("tmp"))
        .env("XDG_CACHE_HOME", at("cache"))
        .stdin(Stdio::null())
        .stdout(fs::File::create(at("out")).expect("a file"))
        .stderr(fs::File::create(at("err")).expect("a file"))
        .spawn()
        .expect("a shell");
    let mut peak = 0;
    let status = loop {
        // After its end a process has no memory that could be asked for.
        peak = peak.max(used(child.id()));
        if let Some(status) = child.try_wait().expect("its state") {
            break status;
        }
        thread::sleep(Duration::from_millis(3));
    };
    let read = |path: &Path| fs::read(path).expect("what was printed");
    (Output { status, stdout: read(&at("out")), stderr: read(&at("err")) }, peak)
}

/// The memory of a process that is no part of a file, as the kernel counts it; 0 where it is gone. A debug build has
/// several times the code of a release build, and more of it comes with every command: that is left out.
fn used(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or_default() * 1024
}

/// Scans, and checks what holds for every image; gives the report.
fn scanned(name: &str, layers: Vec<Blob>) -> Value {
    let (output, peak) = scan(layers);
    let said = String::from_utf8_lossy(&output.stderr);
    let _ = writeln!(io::stderr(), "{name}: {} MB at most", peak >> 20);
    assert_eq!(output.status.code(), Some(0), "{name}: {said}");
    assert!(peak > 1 << 20, "{name}: {peak} bytes are no measurement");
    assert!(peak < MOST_MEMORY, "{name}: {peak} bytes");
    let length = output.stdout.len();
    let _ = writeln!(io::stderr(), "{name}: a report of {} kB", length >> 10);
    assert!(length < LONGEST_REPORT, "{name}: a report of {length} bytes");
    serde_json::from_slice(&output.stdout).expect("a report")
}

/// The notes on how much of the image was inspected.
fn inspected(report: &Value) -> String {
    report["subjects"][0]["inspected"].to_string()
}

/// Bytes that do not compress, in stored blocks.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(bytes).expect("gzip");
    encoder.finish().expect("gzip")
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

/// The front of a layer, so many pieces all alike, and its end.
fn layer(front: Vec<u8>, piece: Vec<u8>, count: u64, end: Vec<u8>) -> Blob {
    let parts = Arc::new((front, piece, end));
    Blob::new(move || {
        let parts = parts.clone();
        Box::new(Pieces::new(move |at| match at {
            0 => Some(parts.0.clone()),
            at if at <= count => Some(parts.1.clone()),
            at if at == count + 1 => Some(parts.2.clone()),
            _ => None,
        }))
    })
}

#[test]
fn five_gigabytes_take_no_more_memory_than_five_megabytes() {
    let piece = noise(4 << 20);
    let count = 5 * GIB / piece.len() as u64;
    let file = header(b"srv/weights.bin", b'0', count * piece.len() as u64, b"");
    let large = layer(gzip(&file), stored(&piece), count, gzip(&Archive::default().file("usr/lib/libx.so", "").end()));
    let report = scanned("5 GB", vec![large]);
    assert!(inspected(&report).contains("layers 1 of 1, 5.3 GB"), "{}", inspected(&report));
}

/// The message about layers that exceeded the limit.
const FULL: &str = "the image has too many files";

/// So many layers, each with a first name of its own.
fn each(count: usize, make: impl Fn(usize) -> Blob) -> Vec<Blob> {
    (0..count).map(make).collect()
}

/// A layer with so many empty files, named by their number.
fn names(first: &str, count: u64, name: impl Fn(u64) -> String) -> Blob {
    let front = Archive::default().file(first, "");
    let all = (0..count).fold(front, |archive, at| archive.block(&header(name(at).as_bytes(), b'0', 0, b"")));
    Blob::of(gzip(&all.end()))
}

/// A layer with a list of so many packages at a path.
fn packages(path: &str, count: u64, name: impl Fn(u64) -> String) -> Blob {
    let one = |at: u64| {
        let (name, version) = (name(at), format!("{at}.0"));
        format!("Package: {name}\nStatus: install ok installed\nVersion: {version}\nP:{name}\nV:{version}\n\n")
    };
    let list: String = (0..count).map(one).collect();
    Blob::of(gzip(&Archive::default().file(path, &list).end()))
}

/// A database of RPM in which a page leads to itself so often as it has room for.
fn circular() -> Blob {
    const PAGE: usize = 4096;
    let mut bytes = vec![0; 4095 * PAGE];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, b"SQLite format 3\0\x10\0");
    // The first page names the second, and that one itself.
    put(100, &[5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    put(PAGE, &[5, 0, 0, 7, 0xf0, 0, 0, 0, 0, 0, 0, 2]);
    for cell in 0..0x7f0 {
        put(PAGE + 12 + 2 * cell, &4092_u16.to_be_bytes());
    }
    put(2 * PAGE - 4, &[0, 0, 0, 2]);
    let size = bytes.len() as u64;
    let path = b"usr/lib/sysimage/rpm/rpmdb.sqlite";
    Blob::of(gzip(&[header(path, b'0', size, b"").to_vec(), bytes, Archive::default().end()].concat()))
}

/// The most bytes of a report on one image, whatever it holds.
const LONGEST_REPORT: usize = 16 << 20;

#[test]
fn images_made_to_use_up_memory_do_not() {
    let cases: Vec<(&str, Vec<Blob>, &str)> = vec![
        (
            "packages of no concern",
            each(8, |layer| packages("var/lib/dpkg/status", 40_000, move |at| format!("p{layer}-{at}"))),
            "packages after the first 10000 of a list",
        ),
        (
            "packages that concern a GPU",
            each(8, |layer| packages("var/lib/dpkg/status", 20_000, move |at| format!("cuda-cudart-{layer}-{at}"))),
            "more than 1000 packages that concern a GPU",
        ),
        (
            "packages of every manager",
            ["var/lib/dpkg/status", "lib/apk/db/installed", "usr/lib/apk/db/installed"]
                .into_iter()
                .map(|path| packages(path, 20_000, |at| format!("libnvidia-compute-{at}")))
                .collect(),
            "more than 1000 packages that concern a GPU",
        ),
        (
            "long names of packages",
            each(8, |layer| {
                let long = "x".repeat(400);
                packages("var/lib/dpkg/status", 8_000, move |at| format!("cuda-cudart-{layer}-{at}{long}"))
            }),
            "packages after the first ",
        ),
        (
            "libraries of CUDA",
            each(4, |layer| names("first", 80_000, move |at| format!("d{layer}/{at}/libcudnn.so.9"))),
            FULL,
        ),
        (
            "libraries",
            each(4, |layer| names("first", 60_000, move |at| format!("d{layer}/{}/f{at}.so", at / 100))),
            FULL,
        ),
        (
            "a database of packages without end",
            vec![circular()],
            "an RPM database that is damaged or has an unknown format",
        ),
        (
            "libraries of the driver",
            each(2, |layer| names("first", 10_000, move |at| format!("d{layer}/{at}/libnvidia-ml.so.1"))),
            "at most 2000 libraries",
        ),
    ];
    for (name, layers, told) in cases {
        let count = layers.len();
        let report = scanned(name, layers);
        let inspected = inspected(&report);
        assert!(inspected.contains(&format!(" of {count}, ")), "{name}: {inspected}");
        assert!(inspected.contains(told), "{name}: {inspected}");
    }
}

/// Pool and fate of every verdict.
fn fates(report: &Value) -> Vec<String> {
    let verdicts = report["subjects"][0]["verdicts"].as_array().expect("verdicts").iter();
    verdicts.map(|verdict| format!("{} {}", verdict["pool"], verdict["fate"])).collect()
}

/// What no report of an audit of 1,000 images and 20 pools fitted into.
const LONG: usize = 256 << 20;

#[test]
fn report_larger_than_the_memory_limit_is_checked_again() {
    let mut report = scanned("a small image", vec![names("etc/os-release", 1, |at| format!("f{at}"))]);
    let before = fates(&report);
    assert!(!before.is_empty());
    // What is made anew takes most of a report.
    let verdict = report["subjects"][0]["verdicts"][0].to_string();
    report["subjects"][0]["verdicts"] = json!(["HERE"]);
    let text = report.to_string();
    let (head, tail) = text.split_once("\"HERE\"").expect("a place");
    let folder = tempfile::tempdir().expect("temporary folder");
    let mut file = io::BufWriter::new(fs::File::create(folder.path().join("long.json")).expect("a file"));
    file.write_all(head.as_bytes()).expect("written");
    for _ in 0..=LONG / verdict.len() {
        file.write_all(verdict.as_bytes()).expect("written");
        file.write_all(b",").expect("written");
    }
    file.write_all(format!("{verdict}{tail}").as_bytes()).expect("written");
    file.into_inner().expect("written");
    let path = folder.path().join("long.json");
    assert!(fs::metadata(&path).expect("a file").len() > LONG as u64);
    let path = path.display().to_string();
    let (output, peak) = limited(folder.path(), &["check", &path]);
    let _ = writeln!(io::stderr(), "a long report: {} MB at most", peak >> 20);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let again: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(fates(&again), before);
    assert!(peak < MOST_MEMORY, "{peak} bytes");
    // A report that is too long is an error before it is read.
    let file = fs::File::options().write(true).open(&path).expect("a file");
    file.set_len((4 << 30) + 1).expect("a hole");
    let (output, _) = limited(folder.path(), &["check", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("longer than 4294967296 bytes"));
}

#[test]
fn many_dockerfiles_stay_within_the_memory_limit() {
    const FILES: usize = 300;
    let folder = tempfile::tempdir().expect("temporary folder");
    let files = folder.path().join("files");
    fs::create_dir(&files).expect("a folder");
    // Short lines: what is made of them takes some thirty times their bytes.
    let text = format!("FROM nvidia/cuda:12.4.1-base-ubuntu22.04\n{}", "EXPOSE 80\n".repeat(600));
    for at in 0..FILES {
        fs::write(files.join(format!("{at}.Dockerfile")), &text).expect("written");
    }
    let (output, peak) = limited(folder.path(), &["check", &files.display().to_string()]);
    let _ = writeln!(io::stderr(), "{FILES} Dockerfiles: {} MB at most", peak >> 20);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["subjects"].as_array().map(Vec::len), Some(FILES));
    assert!(peak > 1 << 20 && peak < MOST_MEMORY, "{peak} bytes");
}
