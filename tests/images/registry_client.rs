//! The registry client against a real registry, and against a server for faults.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use imagelint::registry::{ImageSource, Platform, PullError, PullOptions, PullProblem, PulledImage, Puller};
use serde_json::{Value, json};
use support::oci_layout;
use support::registry::{Registry, free_port};
use support::scripted_server::{Reply, ScriptedServer};
use tempfile::TempDir;

use crate::support;

fn options() -> PullOptions {
    let mut options = PullOptions::default();
    options.limits.back_off = Duration::from_millis(5);
    options
}

fn read_with(text: &str, wanted: &[&str], options: &PullOptions) -> Result<Vec<PulledImage>, PullError> {
    let wanted: Vec<Platform> = wanted.iter().map(|text| text.parse().expect("platform")).collect();
    Puller::new(options.clone())?.open(&ImageSource::parse(text)?, &wanted).map(|opened| opened.images)
}

fn read(text: &str, wanted: &[&str]) -> Result<Vec<PulledImage>, PullError> {
    read_with(text, wanted, &options())
}

fn fails(text: &str) -> PullError {
    let error = read(text, &["linux/amd64"]).expect_err(text);
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

/// A layout with an image `one` and an index `many`, and their digests.
fn sample() -> (TempDir, String, String) {
    let folder = tempfile::tempdir().expect("temporary folder");
    let one = oci_layout::image(folder.path(), "amd64");
    let many = oci_layout::index(folder.path());
    oci_layout::finish(folder.path(), &[("one", one.clone()), ("many", many.clone())]);
    let digest = |descriptor: &Value| descriptor["digest"].as_str().expect("digest").to_owned();
    let (one, many) = (digest(&one), digest(&many));
    (folder, one, many)
}

fn docker_config(folder: &Path, host: &str, auth: &str) -> PullOptions {
    let text = format!(r#"{{"auths":{{"{host}":{{"auth":"{auth}"}}}}}}"#);
    fs::write(folder.join("config.json"), text).expect("config.json");
    let mut options = options();
    options.environment.docker_config = Some(folder.into());
    options
}

#[test]
fn a_real_registry_gives_configs_by_tag_and_by_digest() {
    let (folder, one, many) = sample();
    let registry = Registry::open();
    registry.push(folder.path(), "one", "team/app:12.4.1-base", None);
    registry.push(folder.path(), "one", "team/app:11.8", None);
    registry.push(folder.path(), "many", "team/multi:latest", None);
    let host = registry.host();

    let images = read(&format!("{host}/team/app:12.4.1-base"), &["linux/amd64"]).expect("by tag");
    let image = &images[0];
    assert_eq!((&image.manifest_digest, &image.index_digest), (&one, &None));
    assert_eq!(image.config.variable("CUDA_VERSION"), Some("12.4.1"));
    assert_eq!(image.config.variable("BARE"), Some(""));
    assert_eq!(image.config.labels["maintainer"], "nobody");
    assert_eq!(image.config.entrypoint, ["/start"]);
    assert_eq!(image.config.history.len(), 2);
    assert_eq!(image.config.layers.len(), 1);

    let by_digest = read(&format!("docker://{host}/team/app@{one}"), &[]).expect("by digest");
    assert_eq!(by_digest[0].config, image.config);

    let wanted = ["linux/arm64/v8", "linux/amd64", "linux/s390x"];
    let images = read(&format!("{host}/team/multi"), &wanted).expect("index");
    let found: Vec<&str> = images.iter().map(|image| image.config.platform.architecture.as_str()).collect();
    assert_eq!(found, ["arm64", "amd64"]);
    assert_eq!(images[0].index_digest.as_ref(), Some(&many));
    assert_eq!(images[0].platforms.len(), 2, "the attestation is no platform");

    let missing = read(&format!("{host}/team/multi"), &["linux/s390x"]).expect_err("platform");
    assert!(missing.to_string().contains("no image for linux/s390x; available: linux/amd64, linux/arm64"), "{missing}");

    let error = fails(&format!("{host}/team/app:12.4-base"));
    assert!(matches!(&*error.problem, PullProblem::NotFound { nearest, .. } if nearest[0] == "12.4.1-base"));
    assert!(error.to_string().contains("the nearest tags are 12.4.1-base, 11.8"), "{error}");
    assert!(error.to_string().contains(&format!("requested manifest 12.4-base from {host}")), "{error}");

    let wrong = format!("sha256:{}", "0".repeat(64));
    let error = fails(&format!("{host}/team/app@{wrong}"));
    assert!(matches!(*error.problem, PullProblem::NotFound { .. }), "{error}");
    let error = fails(&format!("{host}/team/none:1"));
    assert!(error.to_string().contains("MANIFEST_UNKNOWN") || error.to_string().contains("NAME_UNKNOWN"));
}

#[test]
fn a_closed_port_is_reported_with_its_cause() {
    let error = fails(&format!("127.0.0.1:{}/a/b:c", free_port()));
    assert!(matches!(*error.problem, PullProblem::Transport { .. }));
    assert!(error.to_string().contains("refused"), "{error}");
}

#[test]
fn a_locked_registry_opens_with_the_right_credentials_only() {
    let (folder, ..) = sample();
    let registry = Registry::locked("ann", "s3cret");
    registry.push(folder.path(), "one", "team/app:1", Some("ann:s3cret"));
    let host = registry.host();
    let reference = format!("{host}/team/app:1");
    let docker = tempfile::tempdir().expect("temporary folder");

    // ann:s3cret
    let right = docker_config(docker.path(), &host, "YW5uOnMzY3JldA==");
    assert_eq!(read_with(&reference, &["linux/amd64"], &right).expect("login").len(), 1);

    // ann:wrong
    let wrong = docker_config(docker.path(), &host, "YW5uOndyb25n");
    let error = read_with(&reference, &[], &wrong).expect_err("wrong password");
    let text = error.to_string();
    assert!(matches!(*error.problem, PullProblem::Unauthorized { status: 401, .. }), "{text}");
    let path = docker.path().join("config.json").display().to_string();
    assert!(text.contains(&path) && text.contains("credentials used"), "{text}");
    assert!(!text.contains("wrong") && !format!("{error:?}").contains("YW5u"), "{text}");

    let other = docker_config(docker.path(), "registry.example.com", "YW5uOnMzY3JldA==");
    let text = read_with(&reference, &[], &other).expect_err("another host's").to_string();
    assert!(text.contains("no credentials for") && text.contains(&path), "{text}");
    let text = fails(&reference).to_string();
    assert!(text.contains("no credentials file exists"), "{text}");
}

#[cfg(unix)]
#[test]
fn credential_helper_is_called_for_its_host() {
    use std::os::unix::fs::PermissionsExt;

    let (folder, ..) = sample();
    let registry = Registry::locked("ann", "s3cret");
    registry.push(folder.path(), "one", "team/app:1", Some("ann:s3cret"));
    let host = registry.host();
    let tools = tempfile::tempdir().expect("temporary folder");
    let script = format!(
        "#!/bin/sh\nread -r server\n[ \"$server\" = {host} ] || {{ echo 'credentials not found in native keychain'; exit 1; }}\n\
         echo '{{\"ServerURL\":\"\",\"Username\":\"ann\",\"Secret\":\"s3cret\"}}'\n"
    );
    let program = tools.path().join("docker-credential-test");
    fs::write(&program, script).expect("helper");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
    let with = |text: &str| {
        fs::write(tools.path().join("config.json"), text).expect("config.json");
        let mut options = options();
        options.environment.docker_config = Some(tools.path().into());
        let path = format!("{}:/usr/bin:/bin", tools.path().display());
        options.environment.path = Some(path.into());
        read_with(&format!("{host}/team/app:1"), &[], &options)
    };
    assert!(with(&format!(r#"{{"credHelpers":{{"{host}":"test"}}}}"#)).is_ok());
    assert!(with(r#"{"credsStore":"test"}"#).is_ok());
    let text = with(r#"{"credsStore":"absent"}"#).expect_err("no helper").to_string();
    assert!(text.contains("docker-credential-absent is not in PATH"), "{text}");
}

/// A helper that does not answer ends with what it started, and what it says is read no further than answers go.
#[cfg(unix)]
#[test]
fn a_credential_helper_is_stopped_with_its_child_processes() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    let tools = tempfile::tempdir().expect("temporary folder");
    let program = tools.path().join("docker-credential-test");
    let alive = tools.path().join("alive");
    let mut options = options();
    options.limits.helper = Duration::from_millis(400);
    options.environment.docker_config = Some(tools.path().into());
    options.environment.path = Some(format!("{}:/usr/bin:/bin", tools.path().display()).into());
    fs::write(tools.path().join("config.json"), r#"{"credsStore":"test"}"#).expect("config.json");
    let locked = ScriptedServer::start(|_, _| {
        Reply::Whole("401 Unauthorized", vec!["WWW-Authenticate: Basic".to_owned()], vec![])
    });
    let asked = |script: &str| {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("helper");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("mode");
        let start = Instant::now();
        let text =
            read_with(&format!("{}/a/b:c", locked.host()), &[], &options).expect_err("no credentials").to_string();
        (text, start.elapsed())
    };
    let (text, _) = asked(&format!("(while :; do date > {}; sleep 0.05; done) &\nwait", alive.display()));
    assert!(text.contains("no output within"), "{text}");
    std::thread::sleep(Duration::from_millis(200));
    let _ = fs::remove_file(&alive);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!alive.exists(), "what the helper started runs on");
    let (text, took) = asked("cat >/dev/null; exec yes '{'");
    assert!(text.contains("docker-credential-test") && took < Duration::from_secs(10), "{took:?} {text}");
}

#[test]
fn a_layout_is_read_by_name() {
    let (folder, one, many) = sample();
    let path = folder.path().display();
    let image = read(&format!("oci:{path}:one"), &[]).expect("image").remove(0);
    assert_eq!((image.manifest_digest, image.config.variable("PATH")), (one.clone(), Some("/bin")));
    let images = read(&format!("oci-dir:{path}:many"), &[]).expect("index");
    assert_eq!((images.len(), images[0].index_digest.as_ref()), (2, Some(&many)));
    for name in ["", ":none"] {
        let error = fails(&format!("oci:{path}{name}"));
        assert!(error.to_string().contains("one of: one, many"), "{error}");
    }
    let blob = folder.path().join("blobs/sha256").join(one.trim_start_matches("sha256:"));
    let text = fs::read_to_string(&blob).expect("blob").replace("layers", "Layers");
    fs::write(blob, text).expect("blob");
    assert!(matches!(*fails(&format!("oci:{path}:one")).problem, PullProblem::WrongDigest { .. }));
    assert!(matches!(*fails("oci:/nowhere/at/all").problem, PullProblem::File { .. }));
}

#[test]
fn indexes_in_indexes_are_followed_so_deep_and_no_deeper() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = |entries: &[Value]| {
        let document = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries});
        oci_layout::blob(folder.path(), media_type, document.to_string().as_bytes())
    };
    let mut image = oci_layout::image(folder.path(), "amd64");
    image["platform"] = json!({"os": "linux", "architecture": "amd64"});
    let mut nested = vec![image.clone()];
    for depth in 0..5 {
        nested.push(index(&[nested[depth].clone()]));
    }
    let wide = index(&vec![image; 300]);
    let empty = index(&[]);
    oci_layout::finish(
        folder.path(),
        &[("four", nested[4].clone()), ("five", nested[5].clone()), ("wide", wide), ("empty", empty)],
    );
    let name = |name: &str| format!("oci:{}:{name}", folder.path().display());
    assert_eq!(read(&name("four"), &["linux/amd64"]).expect("four levels").len(), 1);
    for odd in ["five", "wide"] {
        assert!(matches!(*fails(&name(odd)).problem, PullProblem::IndexTooDeep { .. }), "{odd}");
    }
    for wanted in [&[][..], &["linux/amd64"]] {
        let error = read(&name("empty"), wanted).expect_err("nothing in it");
        assert!(error.to_string().contains("available: no platform"), "{error}");
        assert!(!error.to_string().contains("no image for no platform"), "{error}");
    }
}

fn ok(body: &[u8]) -> Reply {
    Reply::Whole("200 OK", vec![], body.to_vec())
}

#[test]
fn an_html_answer_is_reported_as_a_web_page() {
    let server = ScriptedServer::start(|_, _| {
        let html = vec!["Content-Type: text/html; charset=utf-8".into()];
        Reply::Whole("200 OK", html, b"<!doctype html><title>Wi-Fi log in</title>".to_vec())
    });
    let error = fails(&format!("{}/a/b:c", server.host()));
    assert!(error.to_string().contains("HTML page") && error.to_string().contains("Wi-Fi log in"));
}

#[test]
fn false_bytes_are_refused() {
    let digest = oci_layout::sha256(b"{}");
    let server = ScriptedServer::start(|_, _| ok(br#"{"schemaVersion":2,"manifests":[]}"#));
    let error = fails(&format!("{}/a/b@{digest}", server.host()));
    assert!(matches!(*error.problem, PullProblem::WrongDigest { .. }), "{error}");

    let server = ScriptedServer::start(|_, request| {
        if request.line.contains("/blobs/") {
            return ok(br#"{"os":"linux","architecture":"arm64"}"#);
        }
        let digest = oci_layout::sha256(br#"{"os":"linux","architecture":"amd64"}"#);
        ok(format!(r#"{{"config":{{"digest":"{digest}","size":37}},"layers":[]}}"#).as_bytes())
    });
    let error = fails(&format!("{}/a/b:c", server.host()));
    assert!(matches!(*error.problem, PullProblem::WrongDigest { .. }), "{error}");
    assert!(error.place.request.starts_with("config sha256:"));
}

#[test]
fn an_endless_manifest_is_cut_at_the_limit() {
    let server = ScriptedServer::start(|_, _| Reply::Endless);
    let error = fails(&format!("{}/a/b:c", server.host()));
    assert!(matches!(*error.problem, PullProblem::TooLarge { limit } if limit == 4 << 20), "{error}");
}

#[test]
fn temporary_registry_errors_are_retried() {
    let config = br#"{"os":"linux","architecture":"amd64"}"#;
    let digest = oci_layout::sha256(config);
    let server = ScriptedServer::start(move |number, request| match number {
        0 => Reply::Whole("503 Service Unavailable", vec![], vec![]),
        1 => Reply::Whole("500 Internal Server Error", vec![], vec![]),
        2 => Reply::Whole("429 Too Many Requests", vec!["Retry-After: 1".into()], vec![]),
        _ if request.line.contains("/blobs/") => ok(config),
        _ => ok(format!(r#"{{"config":{{"digest":"{digest}","size":37}}}}"#).as_bytes()),
    });
    let start = Instant::now();
    assert!(read(&format!("{}/a/b:c", server.host()), &["linux/amd64"]).is_ok());
    assert!(start.elapsed() >= Duration::from_secs(1), "Retry-After was not honoured");

    let server = ScriptedServer::start(|_, _| Reply::Whole("502 Bad Gateway", vec![], vec![]));
    let error = fails(&format!("{}/a/b:c", server.host()));
    assert!(error.to_string().contains("502 after 4 attempts; the registry has an internal error"), "{error}");
    for (date, until) in [("08:00:00", "09:00:00"), ("23:59:59", "23:58:00")] {
        let day = |time: &str| format!("Sun, 22 Nov 2026 {time} GMT");
        let headers = vec![format!("Date: {}", day(date)), format!("Retry-After: {}", day(until))];
        let server = ScriptedServer::start(move |_, _| Reply::Whole("429 Slow Down", headers.clone(), vec![]));
        fails(&format!("{}/a/b:c", server.host()));
        assert_eq!(
            server.seen().len(),
            if until < date { 4 } else { 1 },
            "an hour is not waited for, the past is over"
        );
    }
    let patience = vec!["Retry-After: 3600".into()];
    let server = ScriptedServer::start(move |_, _| Reply::Whole("429 Slow Down", patience.clone(), vec![]));
    let error = fails(&format!("{}/a/b:c", server.host()));
    assert!(error.to_string().ends_with("limits requests: log in, or try again later"), "{error}");
    assert_eq!(server.seen().len(), 1);
}

/// A registry that asks for a token; the fault comes in place of the first answers to what holds the word.
fn faulty(word: &'static str, times: usize, fault: fn() -> Reply) -> ScriptedServer {
    let (config, port) = (br#"{"os":"linux","architecture":"amd64"}"#, free_port());
    let digest = oci_layout::sha256(config);
    let asked = AtomicUsize::new(0);
    ScriptedServer::start_on(port, move |_, request| {
        if request.line.contains(word)
            && (word != "manifests" || request.authorization.is_some())
            && asked.fetch_add(1, Ordering::SeqCst) < times
        {
            return fault();
        }
        if request.line.contains("/token?") {
            return ok(br#"{"token":"t"}"#);
        }
        if request.authorization.is_none() {
            let challenge = format!(r#"WWW-Authenticate: Bearer realm="http://127.0.0.1:{port}/token",service="s""#);
            return Reply::Whole("401 Unauthorized", vec![challenge], vec![]);
        }
        if request.line.contains("/blobs/") {
            return ok(config);
        }
        ok(format!(r#"{{"config":{{"digest":"{digest}","size":37}}}}"#).as_bytes())
    })
}

#[test]
fn incomplete_response_is_requested_again() {
    let faults: [fn() -> Reply; 4] = [
        || Reply::Cut,
        || Reply::Part("200 OK", vec![], 1000, vec![]),
        || Reply::Part("200 OK", vec![], 1000, b"{".to_vec()),
        || Reply::Stalled(1000, b"{".to_vec()),
    ];
    let mut options = options();
    options.limits.stall = Duration::from_millis(150);
    for (word, sound) in [("manifests", 2), ("/blobs/", 1), ("/token?", 1)] {
        for (number, fault) in faults.iter().enumerate() {
            let pull =
                |server: &ScriptedServer| read_with(&format!("{}/a/b:c", server.host()), &["linux/amd64"], &options);
            let count = |server: &ScriptedServer| server.seen().iter().filter(|seen| seen.line.contains(word)).count();
            for times in [1, 3] {
                let server = faulty(word, times, *fault);
                let read = pull(&server);
                assert!(read.is_ok(), "{word}, fault {number}: {:?}", read.err());
                assert_eq!(count(&server), sound + times, "{word}, fault {number}");
            }
            let server = faulty(word, usize::MAX, *fault);
            let error = pull(&server).expect_err(word);
            assert!(matches!(*error.problem, PullProblem::Cut { tries: 4, .. }), "{word}, fault {number}: {error}");
            assert_eq!(count(&server), sound - 1 + 4, "{word}, fault {number}");
            let text = error.to_string();
            assert!(
                text.contains("incomplete response after 4 attempts") && text.contains("try again later"),
                "{text}"
            );
            assert!(!text.contains("host name"), "{text}");
            assert_eq!(text.contains("got 1 of 1000 bytes"), number > 1, "{text}");
        }
    }
    // What does not speak HTTP, and an answer that came whole, are not asked again.
    let server = ScriptedServer::start(|_, _| ok(b"{}"));
    fails(&format!("{}/a/b:c", server.host()));
    assert_eq!(server.seen().len(), 1);
}

/// Pages of so many tags each, up to a last one.
fn pages(each: usize, last: usize) -> ScriptedServer {
    ScriptedServer::start(move |_, request| {
        let from = request.line.split("last=t").nth(1).and_then(|rest| rest.split([' ', '&']).next());
        let from: usize = from.map_or(0, |text| text.parse().expect("a number"));
        let tags: Vec<String> = (from + 1..=last.min(from + each)).map(|number| format!("t{number}")).collect();
        let next = from + tags.len();
        let link = format!("Link: </v2/a/b/tags/list?n={each}&last=t{next}>; rel=\"next\"");
        let headers = if next < last { vec![link] } else { vec![] };
        Reply::Whole("200 OK", headers, json!({"name": "a/b", "tags": tags}).to_string().into_bytes())
    })
}

fn tags(server: &ScriptedServer) -> Result<Vec<String>, PullError> {
    let ImageSource::Registry(image) = ImageSource::parse(&format!("{}/a/b", server.host()))? else {
        panic!("a registry")
    };
    Puller::new(options())?.tags(&image)
}

#[test]
fn tag_list_is_limited_and_ends_at_a_repeated_page() {
    let all = tags(&pages(100, 15_000)).expect("all tags");
    assert_eq!((all.len(), all[0].as_str(), all[14_999].as_str()), (15_000, "t1", "t15000"));
    assert_eq!(tags(&pages(1000, 100_000)).expect("all tags").len(), 100_000);
    let error = tags(&pages(1000, usize::MAX)).expect_err("endless");
    assert!(matches!(*error.problem, PullProblem::TooMany { what: "tags", limit: 100_000 }), "{error}");
    assert!(error.to_string().contains("the list exceeds the limit of 100000 tags"), "{error}");
    let link = vec!["Link: </v2/a/b/tags/list?again>; rel=\"next\"".to_owned()];
    let server =
        ScriptedServer::start(move |_, _| Reply::Whole("200 OK", link.clone(), br#"{"tags":["a","b"]}"#.to_vec()));
    assert_eq!(tags(&server).expect("two tags"), ["a", "b"]);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn redirects_do_not_lead_inside() {
    for target in ["http://169.254.169.254/latest", "https://169.254.169.254/", "https://10.0.0.1/x"] {
        let location = vec![format!("Location: {target}")];
        let server = ScriptedServer::start(move |_, _| Reply::Whole("307 Temporary", location.clone(), vec![]));
        let error = fails(&format!("{}/a/b:c", server.host()));
        assert!(matches!(*error.problem, PullProblem::Refused { .. }), "{error}");
        assert_eq!(server.seen().len(), 1);
    }
    let server = ScriptedServer::start(|_, _| Reply::Whole("302 Found", vec!["Location: ?again".into()], vec![]));
    assert!(matches!(*fails(&format!("{}/a/b:c", server.host())).problem, PullProblem::Refused { .. }));
    assert_eq!(server.seen().len(), 6);
}

#[test]
fn token_is_fetched_sent_and_not_forwarded_to_another_host() {
    let config = br#"{"os":"linux","architecture":"amd64"}"#;
    let store = ScriptedServer::start(|_, _| ok(br#"{"os":"linux","architecture":"amd64"}"#));
    let blob = vec![format!("Location: http://{}/blob", store.host())];
    let digest = oci_layout::sha256(config);
    let port = free_port();
    let server = ScriptedServer::start_on(port, move |_, request| {
        if request.line.contains("/token?") {
            let scope = "service=s&scope=repository%3Aa%2Fb%3Apull";
            assert!(request.line.contains(scope), "{}", request.line);
            return ok(br#"{"access_token":"abc"}"#);
        }
        if request.authorization.as_deref() != Some("Bearer abc") {
            let realm = format!("http://127.0.0.1:{port}/token");
            let challenge = format!(r#"WWW-Authenticate: Bearer realm="{realm}",service="s""#);
            return Reply::Whole("401 Unauthorized", vec![challenge], vec![]);
        }
        if request.line.contains("/blobs/") {
            return Reply::Whole("307 Temporary", blob.clone(), vec![]);
        }
        ok(format!(r#"{{"config":{{"digest":"{digest}","size":37}}}}"#).as_bytes())
    });
    let folder = tempfile::tempdir().expect("temporary folder");
    let options = docker_config(folder.path(), &server.host(), "YW5uOnMzY3JldA==");
    let images = read_with(&format!("{}/a/b:c", server.host()), &[], &options).expect("token");
    assert_eq!(images[0].config.platform, Platform::new("linux", "amd64"));
    let token = server.seen().into_iter().find(|request| request.line.contains("/token?"));
    assert_eq!(token.expect("token request").authorization.as_deref(), Some("Basic YW5uOnMzY3JldA=="));
    assert!(store.seen().iter().all(|request| request.authorization.is_none()));
    assert_eq!(store.seen().len(), 1);
}

/// A registry whose token service is at `realm`, or answers with this.
fn with_token_service(realm: Option<&str>, answer: fn() -> Reply) -> ScriptedServer {
    let port = free_port();
    let realm = realm.map_or_else(|| format!("http://127.0.0.1:{port}/token"), ToOwned::to_owned);
    ScriptedServer::start_on(port, move |_, request| {
        if request.line.contains("/token") {
            return answer();
        }
        let challenge = format!(r#"WWW-Authenticate: Bearer realm="{realm}",service="s""#);
        Reply::Whole("401 Unauthorized", vec![challenge], vec![])
    })
}

/// The name of the case, the token service, its answer, and the reported error.
type Lie = (&'static str, Option<&'static str>, fn() -> Reply, &'static str);

#[test]
fn hostile_token_service_is_an_error_and_gets_no_password() {
    let nowhere = || Reply::Cut;
    let cases: &[Lie] = &[
        ("garbage for a token", None, || ok(b"\x00\xff\x00garbage"), "returned no token"),
        ("a token service without a token", None, || ok(b"{}"), "returned no token"),
        ("an empty token", None, || ok(br#"{"token":""}"#), "returned no token"),
        ("a token that is no text", None, || ok(br#"{"token":{"token":[1]}}"#), "returned no token"),
        ("a token of lines", None, || ok(br#"{"token":"a\r\nX-Other: b"}"#), "not allowed in a header"),
        ("nested JSON for a token", None, || ok("[".repeat(500_000).as_bytes()), "returned no token"),
        ("a token without end", None, || Reply::Endless, "1048576 bytes"),
        ("a web page for a token", None, || ok(b"<!doctype html><title>Log in</title>"), "HTML page"),
        ("a token service that fails", None, || Reply::Whole("404 Not Here", vec![], vec![]), "404"),
        ("a realm that is no address", Some("::"), nowhere, "is not a valid address"),
        ("a realm without TLS on another host", Some("http://tokens.example.com/token"), nowhere, "only https"),
        ("a realm that is a file", Some("file:///etc/passwd"), nowhere, "only https"),
        ("a realm on an internal address", Some("https://10.0.0.1/token"), nowhere, "an internal address"),
        ("a realm that tells of a machine", Some("https://169.254.169.254/token"), nowhere, "an internal address"),
    ];
    for (name, realm, answer, told) in cases {
        let server = with_token_service(*realm, *answer);
        let folder = tempfile::tempdir().expect("temporary folder");
        let options = docker_config(folder.path(), &server.host(), "YW5uOnMzY3JldA==");
        let text = format!("{}/a/b:c", server.host());
        let error = read_with(&text, &["linux/amd64"], &options).expect_err(name).to_string();
        assert!(error.contains(told) && error.len() < 1000 && !error.contains("s3cret"), "{name}: {error}");
        if realm.is_some() {
            assert!(server.seen().iter().all(|request| request.authorization.is_none()), "{name}");
        }
    }
}

#[test]
fn documents_made_to_break_a_reader_are_refused() {
    let nested = || [br#"{"layers":"#.to_vec(), b"[".repeat(200_000)].concat();
    let index = |digest: &str, size: i64| {
        format!(r#"{{"schemaVersion":2,"manifests":[{{"digest":"{digest}","size":{size}}}]}}"#).into_bytes()
    };
    let of_config = |size: &str| {
        format!(r#"{{"config":{{"digest":"sha256:{}","size":{size}}},"layers":[]}}"#, "0".repeat(64)).into_bytes()
    };
    let far = format!("sha256:{}", "1".repeat(64));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nested JSON", nested()),
        ("nested objects", br#"{"config":"#.repeat(100_000)),
        (
            "a list of a million nothings",
            [br#"{"layers":["#.to_vec(), b"{},".repeat(1_000_000), b"{}]}".to_vec()].concat(),
        ),
        ("no JSON", b"\x00\x01\x02".to_vec()),
        ("half a document", br#"{"config":{"digest":"sha256:"#.to_vec()),
        ("a size below nothing", of_config("-1")),
        ("a size of eight exbibytes", of_config("9223372036854775807")),
        ("a size that is no number", of_config("\"1\"")),
        ("a config of a gigabyte", of_config("1073741824")),
        ("a digest that leads out", index("sha256:../../../etc/passwd", 2)),
        ("a digest of an unknown kind", index("md5:d41d8cd98f00b204e9800998ecf8427e", 2)),
        ("an index that names itself", index(&far, 150)),
        ("an index of a gigabyte", index(&far, 1 << 30)),
        ("an image of schema 1", br#"{"schemaVersion":1,"fsLayers":[{"blobSum":"sha256:00"}]}"#.to_vec()),
    ];
    for (name, body) in cases {
        // Whatever is asked for, the answer is the same document.
        let server = ScriptedServer::start(move |_, _| ok(&body));
        let start = Instant::now();
        let error = fails(&format!("{}/a/b:c", server.host())).to_string();
        assert!(error.len() < 1000 && start.elapsed() < Duration::from_secs(10), "{name}: {error}");
        assert!(server.seen().len() <= 3, "{name}: {:?}", server.seen());
    }
    let announced = ScriptedServer::start(|_, _| Reply::Part("200 OK", vec![], 1 << 30, vec![]));
    let error = fails(&format!("{}/a/b:c", announced.host()));
    assert!(matches!(*error.problem, PullProblem::TooLarge { .. }), "a manifest of a gigabyte: {error}");
}
