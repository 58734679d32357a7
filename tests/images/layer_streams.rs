//! Layers out of registries: whole, in parallel, and through every fault of the way.

use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use imagelint::registry::{ImageSource, OpenedImages, PullError, PullOptions, PullProblem, Puller};
use serde_json::json;
use support::oci_layout;
use support::registry::{Registry, free_port};
use support::scripted_server::{Reply, Request, ScriptedServer};

use crate::support;

const CONFIG: &[u8] = br#"{"os":"linux","architecture":"amd64","history":[{"created_by":"ENV A=1","empty_layer":true},
    {"created_by":"RUN make"}],"rootfs":{"type":"layers","diff_ids":[]}}"#;

fn options() -> PullOptions {
    let mut options = PullOptions::default();
    options.limits.back_off = Duration::from_millis(5);
    options
}

/// Bytes that no two places share.
fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).expect("a byte")).collect()
}

/// A registry with one image of one layer; the script answers for the layer, from its first request, number 0, on.
fn registry(layer: &[u8], script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> ScriptedServer {
    let about = json!({"digest": oci_layout::sha256(layer), "size": layer.len(),
        "mediaType": "application/vnd.oci.image.layer.v1.tar"});
    registry_of(&about, script)
}

fn registry_of(
    layer: &serde_json::Value,
    script: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
) -> ScriptedServer {
    let config = oci_layout::sha256(CONFIG);
    let manifest = json!({"schemaVersion": 2, "layers": [layer], "config": {"digest": config, "size": CONFIG.len()}});
    let manifest = manifest.to_string().into_bytes();
    let asked = AtomicUsize::new(0);
    ScriptedServer::start(move |_, request| {
        if request.line.contains("/manifests/") {
            ok(&manifest)
        } else if request.line.contains(&config) {
            ok(CONFIG)
        } else {
            script(asked.fetch_add(1, Ordering::SeqCst), request)
        }
    })
}

fn ok(body: &[u8]) -> Reply {
    Reply::Whole("200 OK", vec![], body.to_vec())
}

fn open(server: &ScriptedServer, options: &PullOptions) -> OpenedImages {
    let source = ImageSource::parse(&format!("{}/a/b:c", server.host())).expect("a reference");
    Puller::new(options.clone()).expect("a puller").open(&source, &[]).expect("an image")
}

fn read_with(server: &ScriptedServer, options: &PullOptions) -> Result<Vec<u8>, PullError> {
    let opened = open(server, options);
    let mut read = Vec::new();
    let mut reader = opened.blobs.layer_reader(&opened.images[0].config.layers[0])?;
    match reader.read_to_end(&mut read) {
        Ok(_) => Ok(read),
        Err(error) => Err(inner_pull_error(error)),
    }
}

fn read(server: &ScriptedServer) -> Result<Vec<u8>, PullError> {
    read_with(server, &options())
}

/// The pull's own error in that of a reader.
fn inner_pull_error(error: io::Error) -> PullError {
    *error.into_inner().expect("an inner error").downcast().expect("an error of the pull")
}

fn layer_requests(server: &ScriptedServer) -> Vec<Request> {
    let config = oci_layout::sha256(CONFIG);
    server.seen().into_iter().filter(|seen| seen.line.contains("/blobs/") && !seen.line.contains(&config)).collect()
}

fn from(request: &Request) -> usize {
    let range = request.range.as_deref().and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
    range.map_or(0, |from| from.parse().expect("a number"))
}

#[test]
fn a_real_registry_gives_layers_to_many_threads_at_once() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let layer = bytes(3_000_000);
    let config = oci_layout::blob(folder.path(), "application/vnd.oci.image.config.v1+json", CONFIG);
    let about = oci_layout::blob(folder.path(), "application/vnd.oci.image.layer.v1.tar", &layer);
    let root = oci_layout::manifest(folder.path(), &config, &about);
    oci_layout::finish(folder.path(), &[("one", root)]);
    let registry = Registry::locked("ann", "s3cret");
    registry.push(folder.path(), "one", "team/app:1", Some("ann:s3cret"));
    let mut options = options();
    options.environment.docker_config = Some(folder.path().into());
    // ann:s3cret
    let text = format!(r#"{{"auths":{{"{}":{{"auth":"YW5uOnMzY3JldA=="}}}}}}"#, registry.host());
    std::fs::write(folder.path().join("config.json"), text).expect("config.json");
    let source = ImageSource::parse(&format!("{}/team/app:1", registry.host())).expect("a reference");
    let opened = Puller::new(options).expect("a puller").open(&source, &[]).expect("an image");
    let found = &opened.images[0].config.layers[0];
    assert_eq!((found.size, found.history), (3_000_000, Some(1)));
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let (blobs, found) = (opened.blobs.clone(), found.clone());
            thread::spawn(move || {
                let mut read = Vec::new();
                blobs.layer_reader(&found).expect("a reader").read_to_end(&mut read).expect("all bytes");
                read
            })
        })
        .collect();
    for reader in readers {
        assert!(reader.join().expect("a thread") == layer);
    }
    let layout = ImageSource::parse(&format!("oci:{}:one", folder.path().display())).expect("a layout");
    let opened = Puller::new(PullOptions::default()).expect("a puller").open(&layout, &[]).expect("an image");
    let mut read = Vec::new();
    opened.blobs.layer_reader(found).expect("a reader").read_to_end(&mut read).expect("all bytes");
    assert!(read == layer);
    let mut longer = found.clone();
    longer.size += 1;
    assert!(matches!(
        *opened.blobs.layer_reader(&longer).err().expect("an error").problem,
        PullProblem::WrongSize { .. }
    ));
}

#[test]
fn a_broken_download_resumes_at_its_last_byte() {
    let layer = bytes(1_000_000);
    let body = layer.clone();
    let server = registry(&layer, move |number, request| {
        let from = from(request);
        let range = vec![format!("Content-Range: bytes {from}-999999/1000000")];
        match number {
            0 => Reply::Part("200 OK", vec![], 1_000_000, body[..400_000].to_vec()),
            1 => Reply::Cut,
            2 => Reply::Part("206 Partial Content", range, 1_000_000 - from, body[from..from + 300_000].to_vec()),
            3 => Reply::Whole("503 Service Unavailable", vec!["Retry-After: 0".into()], vec![]),
            _ => Reply::Whole("206 Partial Content", range, body[from..].to_vec()),
        }
    });
    assert!(read(&server).expect("all bytes") == layer);
    let seen: Vec<usize> = layer_requests(&server).iter().map(from).collect();
    assert_eq!((seen[0], seen.len()), (0, 5));
    assert!(seen[1] > 0 && seen[1] <= 400_000 && seen[4] > seen[1], "{seen:?}");
}

#[test]
fn a_layer_that_fails_before_its_first_byte_is_requested_again() {
    let faults: [fn() -> Reply; 4] = [
        || Reply::Cut,
        || Reply::Part("200 OK", vec![], 1000, vec![]),
        || Reply::Stalled(1000, vec![]),
        || Reply::Whole("502 Bad Gateway", vec![], vec![]),
    ];
    let mut options = options();
    options.limits.stall = Duration::from_millis(150);
    for (number, fault) in faults.into_iter().enumerate() {
        for times in [1, 3] {
            let layer = bytes(1000);
            let body = layer.clone();
            let server = registry(&layer, move |number, _| if number < times { fault() } else { ok(&body) });
            assert!(read_with(&server, &options).expect("all bytes") == layer, "fault {number}");
            assert_eq!(layer_requests(&server).len(), times + 1, "fault {number}");
        }
        let server = registry(&bytes(1000), move |_, _| fault());
        let error = read_with(&server, &options).expect_err("always broken");
        assert_eq!(layer_requests(&server).len(), 4, "fault {number}");
        let text = error.to_string();
        let status = text.contains("status 502 after 4 attempts");
        let cut = matches!(*error.problem, PullProblem::Broken { at: 0, size: 1000, breaks: 4, .. });
        assert_eq!((status, cut), (number == 3, number != 3), "{text}");
        assert!(!text.contains("host name"), "{text}");
    }
}

#[test]
fn storage_host_without_the_layer_is_named() {
    let storage = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", vec![], b"NoSuchKey".to_vec()));
    let location = vec![format!("Location: http://{}/blob", storage.host())];
    let server = registry(&bytes(10), move |_, _| Reply::Whole("307 Temporary", location.clone(), vec![]));
    let error = read(&server).expect_err("missing");
    let host = storage.host();
    assert!(matches!(&*error.problem, PullProblem::Elsewhere { by, status: 404, .. } if *by == host), "{error}");
    assert!(error.to_string().contains(&format!("{host}, to which the registry redirects, returned")), "{error}");
    // The registry's own word is its own.
    let server = registry(&bytes(10), |_, _| Reply::Whole("404 Not Found", vec![], vec![]));
    assert!(matches!(*read(&server).expect_err("missing").problem, PullProblem::NotFound { .. }));
}

#[test]
fn a_server_without_range_requests_restarts_the_download() {
    let layer = bytes(500_000);
    let body = layer.clone();
    let server = registry(&layer, move |number, _| match number {
        0 => Reply::Part("200 OK", vec![], 500_000, body[..200_000].to_vec()),
        _ => ok(&body),
    });
    assert!(read(&server).expect("all bytes") == layer);
    assert_eq!(layer_requests(&server).len(), 2);
}

#[test]
fn unrequested_byte_range_is_refused() {
    for range in ["bytes 0-999/1000", "bytes 500-999/2000", "", "pages 500-999/1000"] {
        let layer = bytes(1000);
        let body = layer.clone();
        let server = registry(&layer, move |number, _| match number {
            0 => Reply::Part("200 OK", vec![], 1000, body[..500].to_vec()),
            _ => Reply::Whole("206 Partial", vec![format!("Content-Range: {range}")], body[500..].to_vec()),
        });
        let error = read(&server).expect_err(range);
        assert!(matches!(*error.problem, PullProblem::Range { offset: 500, .. }), "{range}: {error}");
    }
}

#[test]
fn a_download_ends_after_a_limited_number_of_retries() {
    let layer = bytes(1000);
    let server = registry(&layer, |number, _| match number {
        0 => Reply::Part("200 OK", vec![], 1000, vec![0; 10]),
        _ => Reply::Part("206 Partial", vec!["Content-Range: bytes 10-999/1000".into()], 990, vec![]),
    });
    let error = read(&server).expect_err("broken");
    assert!(matches!(*error.problem, PullProblem::Broken { at: 10, size: 1000, .. }), "{error}");
    assert_eq!(layer_requests(&server).len(), 1 + 3);
    let text = error.to_string();
    assert!(text.contains(&server.host()) && text.contains("requested layer sha256:"), "{text}");

    // Each try makes some progress, but the number of tries is limited.
    let server = registry(&layer, |_, request| {
        let from = from(request);
        let range = vec![format!("Content-Range: bytes {from}-999/1000")];
        Reply::Part(if from == 0 { "200 OK" } else { "206 Partial" }, range, 1000 - from, vec![0; 1])
    });
    assert!(matches!(*read(&server).expect_err("broken").problem, PullProblem::Broken { breaks: 33, .. }));
}

#[test]
fn more_or_fewer_bytes_than_announced_are_refused() {
    let layer = bytes(1000);
    let server = registry(&layer, |_, _| Reply::Endless);
    let error = read(&server).expect_err("endless");
    assert!(matches!(*error.problem, PullProblem::WrongSize { expected: 1000, .. }), "{error}");
    for length in [0, 999, 1001] {
        let server = registry(&layer, move |_, _| ok(&vec![0; length]));
        let error = read(&server).expect_err("another length");
        assert!(matches!(*error.problem, PullProblem::WrongSize { expected: 1000, .. }), "{length}: {error}");
        assert_eq!(layer_requests(&server).len(), 1);
    }
}

#[test]
fn a_silent_or_slow_download_is_an_error() {
    let layer = bytes(1000);
    let body = layer.clone();
    let mut options = options();
    options.limits.stall = Duration::from_millis(150);
    let server = registry(&layer, move |number, request| {
        if number == 0 {
            return Reply::Stalled(1000, body[..100].to_vec());
        }
        let from = from(request);
        let range = vec![format!("Content-Range: bytes {from}-999/1000")];
        Reply::Whole("206 Partial", range, body[from..].to_vec())
    });
    assert!(read_with(&server, &options).expect("all bytes") == layer);

    let start = Instant::now();
    let server = registry(&layer, |_, _| Reply::Stalled(1000, vec![]));
    assert!(matches!(*read_with(&server, &options).expect_err("silent").problem, PullProblem::Broken { .. }));
    options.limits.slowest = Duration::from_millis(200);
    let server = registry(&bytes(100_000), |_, _| Reply::Drip(100_000));
    let error = read_with(&server, &options).expect_err("a drip");
    assert!(error.to_string().contains("below the minimum transfer rate"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn slow_response_headers_time_out() {
    let drips = TcpListener::bind("127.0.0.1:0").expect("a port");
    let location = format!("Location: http://{}/blob", drips.local_addr().expect("an address"));
    thread::spawn(move || {
        for mut stream in drips.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(b"X-A: b\r\n").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let mut options = options();
    options.limits.whole = Duration::from_millis(400);
    let server = registry(&bytes(1000), move |_, _| Reply::Whole("307 Temporary", vec![location.clone()], vec![]));
    let start = Instant::now();
    let error = read_with(&server, &options).expect_err("a drip");
    assert!(error.to_string().contains("not complete within"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn dropping_the_reader_ends_the_request() {
    let layer = json!({"digest": oci_layout::sha256(b""), "size": 1_u64 << 40,
        "mediaType": "application/vnd.oci.image.layer.v1.tar"});
    // The server has one thread: while an answer goes on it takes no other request.
    let server = registry_of(&layer, |number, _| if number == 0 { Reply::Endless } else { ok(b"") });
    let opened = open(&server, &options());
    let found = &opened.images[0].config.layers[0];
    let mut reader = opened.blobs.layer_reader(found).expect("a reader");
    reader.read_exact(&mut [0; 4096]).expect("bytes");
    drop(reader);
    let start = Instant::now();
    let error = opened.blobs.layer_reader(found).expect("a reader").read(&mut [0]).expect_err("an empty answer");
    assert!(matches!(*inner_pull_error(error).problem, PullProblem::WrongSize { actual: 0, .. }));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn token_is_shared_between_pulls_and_renewed_on_expiry() {
    let layer = bytes(100_000);
    let (body, port) = (layer.clone(), free_port());
    let tokens = Arc::new(AtomicUsize::new(0));
    let given = tokens.clone();
    let expired = AtomicUsize::new(0);
    let (config, digest) = (oci_layout::sha256(CONFIG), oci_layout::sha256(&layer));
    let manifest = json!({"schemaVersion": 2, "config": {"digest": config, "size": CONFIG.len()},
        "layers": [{"digest": digest, "size": layer.len(), "mediaType": ""}]});
    let server = ScriptedServer::start_on(port, move |_, request| {
        if request.line.contains("/token?") {
            let number = given.fetch_add(1, Ordering::SeqCst);
            return ok(format!(r#"{{"token":"t{number}"}}"#).as_bytes());
        }
        let current = format!("Bearer t{}", given.load(Ordering::SeqCst).saturating_sub(1));
        if given.load(Ordering::SeqCst) == 0 || request.authorization.as_deref() != Some(&current) {
            let challenge = format!(r#"WWW-Authenticate: Bearer realm="http://127.0.0.1:{port}/token",service="s""#);
            return Reply::Whole("401 Unauthorized", vec![challenge], vec![]);
        }
        if request.line.contains("/manifests/") {
            ok(manifest.to_string().as_bytes())
        } else if request.line.contains(&config) {
            ok(CONFIG)
        } else if expired.fetch_add(1, Ordering::SeqCst) == 0 {
            // The first token ends in the middle of the first layer.
            given.fetch_add(1, Ordering::SeqCst);
            Reply::Part("200 OK", vec![], body.len(), body[..50_000].to_vec())
        } else {
            let from = from(request);
            let range = vec![format!("Content-Range: bytes {from}-{}/{}", body.len() - 1, body.len())];
            let status = if from == 0 { "200 OK" } else { "206 Partial" };
            Reply::Whole(status, range, body[from..].to_vec())
        }
    });
    let puller = Arc::new(Puller::new(options()).expect("a puller"));
    let pulls: Vec<_> = (0..20)
        .map(|number| {
            let (puller, host) = (puller.clone(), server.host());
            thread::spawn(move || {
                let source = ImageSource::parse(&format!("{host}/a/b:{number}")).expect("a reference");
                puller.open(&source, &[]).expect("an image")
            })
        })
        .collect();
    let opened: Vec<OpenedImages> = pulls.into_iter().map(|pull| pull.join().expect("a thread")).collect();
    let asked = || server.seen().iter().filter(|seen| seen.line.contains("/token?")).count();
    assert_eq!(asked(), 1);
    let mut read = Vec::new();
    let found = &opened[0].images[0].config.layers[0];
    opened[0].blobs.layer_reader(found).expect("a reader").read_to_end(&mut read).expect("all bytes");
    assert!(read == layer);
    assert_eq!(asked(), 2);
}

#[test]
fn layers_lead_nowhere_inside_and_foreign_ones_are_not_fetched() {
    let layer = bytes(10);
    for target in ["http://169.254.169.254/latest", "https://10.0.0.1/x", "file:///etc/passwd"] {
        let location = vec![format!("Location: {target}")];
        let server = registry(&layer, move |_, _| Reply::Whole("307 Temporary", location.clone(), vec![]));
        let error = read(&server).expect_err(target);
        assert!(matches!(*error.problem, PullProblem::Refused { .. }), "{error}");
    }
    let elsewhere = ScriptedServer::start(|_, _| ok(b"0123456789"));
    let url = format!("http://{}/layer", elsewhere.host());
    let about = json!({"digest": oci_layout::sha256(b"0123456789"), "size": 10, "urls": [url],
        "mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"});
    let server = registry_of(&about, |_, _| Reply::Whole("404 Not Found", vec![], vec![]));
    let error = read(&server).expect_err("foreign");
    assert!(matches!(&*error.problem, PullProblem::Foreign { urls } if urls == std::slice::from_ref(&url)), "{error}");
    assert!(error.to_string().contains("not inspected"), "{error}");
    assert!(elsewhere.seen().is_empty());
    // Nor does a layout have to hold one, which a layer of any other kind must be in.
    let folder = tempfile::tempdir().expect("temporary folder");
    let config = oci_layout::blob(folder.path(), "application/vnd.oci.image.config.v1+json", CONFIG);
    let usual = json!({"digest": about["digest"], "size": 10, "mediaType": "application/vnd.oci.image.layer.v1.tar"});
    let roots = [("foreign", &about), ("usual", &usual)]
        .map(|(name, layer)| (name, oci_layout::manifest(folder.path(), &config, layer)));
    oci_layout::finish(folder.path(), &roots);
    let open = |name: &str| {
        let source = ImageSource::parse(&format!("oci:{}:{name}", folder.path().display())).expect("a layout");
        let opened = Puller::new(PullOptions::default()).expect("a puller").open(&source, &[]).expect("an image");
        opened.blobs.layer_reader(&opened.images[0].config.layers[0]).err().expect("no layer")
    };
    assert!(matches!(&*open("foreign").problem, PullProblem::Foreign { urls } if urls == &[url]));
    assert!(matches!(*open("usual").problem, PullProblem::File { .. }));
    let about = json!({"digest": "md5:00", "size": 10, "mediaType": ""});
    let server = registry_of(&about, |_, _| ok(b"0123456789"));
    assert!(matches!(*read(&server).expect_err("md5").problem, PullProblem::UnsupportedDigest { .. }));
    let page = vec!["Content-Type: text/html".to_owned()];
    let server = registry(&layer, move |_, _| Reply::Whole("200 OK", page.clone(), b"0123456789".to_vec()));
    assert!(matches!(*read(&server).expect_err("a page").problem, PullProblem::Html { .. }));
}
