//! Access to registries: certificates, mirrors, credentials of the command line, plain HTTP.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use imagelint::registry::{
    CertificateFile, ImageSource, PullError, PullOptions, PullProblem, PulledImage, Puller, RegistryAccess,
    RegistryLogin,
};
use serde_json::json;
use support::oci_layout;
use support::registry::Registry;
use support::scripted_server::{Reply, ScriptedServer};
use test_repository::{TestRepository, code, err};

use crate::support;
use crate::support::test_repository;

fn options() -> PullOptions {
    let mut options = PullOptions::default();
    options.limits.back_off = Duration::from_millis(5);
    options
}

fn pull(text: &str, options: PullOptions) -> Result<Vec<PulledImage>, PullError> {
    Puller::new(options)?.open(&ImageSource::parse(text)?, &[]).map(|opened| opened.images)
}

/// A layout `layout` with an image `one`.
fn sample(folder: &Path) {
    let path = folder.join("layout");
    let one = oci_layout::image(&path, "amd64");
    oci_layout::finish(&path, &[("one", one)]);
}

/// An authority `ca.pem` of our own, and a certificate `one.pem` that it gave to 127.0.0.1.
fn certificates(folder: &Path) {
    fs::write(folder.join("extensions"), "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n").expect("a file");
    for line in [
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=own",
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout one.key -out one.csr -subj /CN=registry",
        "x509 -req -in one.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out one.pem -days 2 -extfile extensions",
    ] {
        let made = Command::new("openssl").args(line.split(' ')).current_dir(folder).output().expect("openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

#[test]
fn a_configured_certificate_is_trusted() {
    let folder = tempfile::tempdir().expect("temporary folder");
    sample(folder.path());
    certificates(folder.path());
    let registry = Registry::secret(folder.path());
    registry.push(&folder.path().join("layout"), "one", "team/app:1", None);
    let name = format!("{}/team/app:1", registry.host());

    let error = pull(&name, options()).expect_err("an unknown authority");
    assert!(matches!(*error.problem, PullProblem::Transport { .. }), "{error}");
    assert!(error.to_string().ends_with("with --cacert or SSL_CERT_FILE"), "{error}");

    let with = |file: &str| {
        let path = folder.path().join(file);
        let root = CertificateFile { path: path.display().to_string(), pem: fs::read(path).expect("a file") };
        let mut options = options();
        options.access = RegistryAccess { roots: vec![root], ..RegistryAccess::default() };
        pull(&name, options)
    };
    assert_eq!(with("ca.pem").expect("a trusted authority").len(), 1);
    assert!(with("extensions").expect_err("no certificate").to_string().contains("extensions"));
    assert!(with("ca.key").is_err());

    let insecure = folder.path().join("insecure.conf");
    fs::write(&insecure, format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", registry.host())).expect("conf");
    let mut options = options();
    options.environment.registries_conf = Some(insecure);
    assert_eq!(pull(&name, options).expect("asked for").len(), 1);

    let repository = TestRepository::new();
    let ca = folder.path().join("ca.pem").display().to_string();
    let done = repository.run(&["scan", "--cacert", &ca, &name]);
    assert_ne!(code(&done), 2, "{}", err(&done));
    let done = repository.command(&["scan", &name]).env("SSL_CERT_FILE", &ca).output().expect("a run");
    assert_ne!(code(&done), 2, "{}", err(&done));
    let done = repository.run(&["scan", "--cacert", "absent.pem", &name]);
    assert!(err(&done).contains("cannot read absent.pem"), "{}", err(&done));
}

/// A certificate `own.pem` that signed itself and calls itself one of an authority, as `openssl req -x509` makes it.
fn own(folder: &Path, host: &str, days: &[&str; 2]) {
    let settings = format!(
        "[ca]\ndefault_ca = one\n[one]\ndatabase = index\nserial = serial\ndefault_md = sha256\npolicy = policy\n\
         x509_extensions = extensions\nnew_certs_dir = .\n[policy]\ncommonName = supplied\n[extensions]\n\
         basicConstraints = CA:TRUE\nsubjectAltName = {host}\n"
    );
    for (file, text) in [("own.cnf", settings.as_str()), ("index", ""), ("serial", "01\n")] {
        fs::write(folder.join(file), text).expect(file);
    }
    let [from, until] = days;
    for line in [
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout own.key -out own.csr -subj /CN=own"
            .to_owned(),
        format!(
            "ca -batch -config own.cnf -selfsign -keyfile own.key -in own.csr -out own.pem -notext \
             -startdate {from}0101000000Z -enddate {until}0101000000Z"
        ),
    ] {
        let made = Command::new("openssl").args(line.split(' ')).current_dir(folder).output().expect("openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    for (from, to) in [("own.pem", "one.pem"), ("own.key", "one.key")] {
        fs::copy(folder.join(from), folder.join(to)).expect("a file");
    }
}

#[test]
fn a_self_signed_certificate_is_trusted_if_it_is_configured() {
    let (here, today) = ("IP:127.0.0.1", ["2020", "2090"]);
    for (what, host, days, refused) in [
        ("its own", here, today, None),
        ("for another host", "DNS:elsewhere.example", today, Some("notvalidfor")),
        ("no longer valid", here, ["2019", "2020"], Some("expired")),
        ("not valid yet", here, ["2090", "2091"], Some("notvalidyet")),
    ] {
        let folder = tempfile::tempdir().expect("temporary folder");
        sample(folder.path());
        own(folder.path(), host, &days);
        let registry = Registry::secret(folder.path());
        registry.push(&folder.path().join("layout"), "one", "team/app:1", None);
        let name = format!("{}/team/app:1", registry.host());
        let with = |pem: Vec<u8>| {
            let mut options = options();
            options.access = RegistryAccess {
                roots: vec![CertificateFile { path: "own.pem".into(), pem }],
                ..RegistryAccess::default()
            };
            pull(&name, options)
        };
        let outcome = with(fs::read(folder.path().join("own.pem")).expect("a file"));
        match refused {
            None => assert_eq!(outcome.expect(what).len(), 1),
            Some(told) => {
                let error = outcome.expect_err(what).to_string();
                let words = error.to_ascii_lowercase().replace(' ', "");
                assert!(words.contains(told) && error.contains("for this host or this date"), "{what}: {error}");
            }
        }
        if refused.is_none() {
            // Another certificate of the same name is another one.
            let other = tempfile::tempdir().expect("temporary folder");
            own(other.path(), here, &today);
            let error = with(fs::read(other.path().join("own.pem")).expect("a file")).expect_err("another certificate");
            assert!(error.to_string().ends_with("pass that certificate with --cacert"), "{error}");
        }
    }
}

#[test]
fn command_line_password_is_sent_only_to_its_registry() {
    let folder = tempfile::tempdir().expect("temporary folder");
    sample(folder.path());
    let registry = Registry::locked("ann", "s3cret");
    registry.push(&folder.path().join("layout"), "one", "team/app:1", Some("ann:s3cret"));
    let name = format!("{}/team/app:1", registry.host());
    let with = |registry: String, password: &str| {
        let mut options = options();
        let login = RegistryLogin { registry, user: "ann".into(), password: password.into() };
        assert!(!format!("{login:?}").contains(password));
        options.access.login = Some(login);
        pull(&name, options)
    };
    assert_eq!(with(registry.host(), "s3cret").expect("the right password").len(), 1);
    let error = with(registry.host(), "wr0ng").expect_err("a wrong password").to_string();
    assert!(error.contains("user name and password for") && !error.contains("wr0ng"), "{error}");
    let error = with("registry.example.com".into(), "s3cret").expect_err("another registry's").to_string();
    assert!(error.contains("no credentials for"), "{error}");

    let repository = TestRepository::new();
    let run =
        |arguments: &[&str], input: &str| repository.command(arguments).write_stdin(input).output().expect("a run");
    let asked = ["scan", "--username", "ann", "--password-stdin"];
    let done = run(&[&asked[..], &[&name]].concat(), "s3cret\n");
    assert_ne!(code(&done), 2, "{}", err(&done));
    let done = run(&[&asked[..], &[&name]].concat(), "\n");
    assert!(err(&done).contains("no password"), "{}", err(&done));
    let done = run(&[&asked[..], &[&name, "registry.example.com/a"]].concat(), "s3cret\n");
    assert!(err(&done).contains("applies to one registry, but the images come from 127.0.0.1"), "{}", err(&done));
    assert_eq!(code(&run(&["scan", "--username", "ann", &name], "")), 2);
    assert_eq!(code(&run(&["scan", "--password-stdin", &name], "s3cret")), 2);
}

#[test]
fn all_registry_commands_accept_the_same_login_flags() {
    let folder = tempfile::tempdir().expect("temporary folder");
    sample(folder.path());
    let registry = Registry::locked("ann", "s3cret");
    registry.push(&folder.path().join("layout"), "one", "team/app:1", Some("ann:s3cret"));
    let name = format!("{}/team/app:1", registry.host());
    let repository = TestRepository::new();
    repository.file("Dockerfile", &format!("FROM {name}\nRUN true\n"));
    let host = registry.host();
    let login = ["--username", "ann", "--password-stdin"];
    let for_it = ["--registry", &host];
    let run = |arguments: &[&str]| {
        let mut command = repository.command(arguments);
        command.args(login).args(for_it).write_stdin("s3cret\n").output().expect("a run")
    };
    // What each command says of an image that it may not read, and that it says no such thing of one that it may.
    let refused = "401";
    for arguments in [
        &["check", "--pull", "--no-cache", "Dockerfile"][..],
        &["check", "Dockerfile", "--built", &name],
        &["describe", "--pull", "--no-cache", "Dockerfile"],
        &["describe", &name],
        &["needs", "--pull", "--no-cache", "Dockerfile"],
        &["needs", &name],
        &["lock", "--no-cache", "Dockerfile", "--platform", "linux/amd64"],
    ] {
        let without = repository.run(arguments);
        let said = format!("{}{}", err(&without), test_repository::out(&without));
        let pulls = arguments.contains(&"--pull") && arguments[0] != "check";
        assert!(pulls || said.contains(refused) || said.contains("credentials"), "{arguments:?}: {said}");
        let with = run(arguments);
        let said = format!("{}{}", err(&with), test_repository::out(&with));
        assert!(!said.contains("cannot read") && !said.contains("credentials"), "{arguments:?}: {said}");
        assert_ne!(code(&with), 2, "{arguments:?}: {said}");
    }
    // One password is for one registry, and standard input for one thing.
    let done = run(&["check", "--pull", "-"]);
    assert!(err(&done).contains("cannot both be read from standard input"), "{}", err(&done));
    let done = run(&["check", "Dockerfile"]);
    assert_ne!(code(&done), 2, "{}", err(&done));
    // Two sides of a comparison are two times that registries are asked, with one password.
    let done = run(&["compare", &name, &name]);
    assert_ne!(code(&done), 2, "{}", err(&done));
}

/// A registry that asks for a password and keeps a record of what it is sent.
fn curious() -> ScriptedServer {
    ScriptedServer::start(|_, _| {
        Reply::Whole(
            "401 Unauthorized",
            vec!["WWW-Authenticate: Basic realm=\"give\"".into()],
            b"who are you?".to_vec(),
        )
    })
}

#[test]
fn the_dockerfile_of_a_stranger_gets_no_password() {
    let (theirs, own) = (curious(), curious());
    let repository = TestRepository::new();
    let (there, here) = (theirs.host(), own.host());
    repository.file("Dockerfile", &format!("FROM {there}/bait:1\nRUN true\n"));
    repository.file("both/Dockerfile", &format!("FROM {there}/bait:1 AS a\nFROM {here}/app:1\nCOPY --from=a /a /a\n"));
    repository.file("list.txt", &format!("{there}/bait:1\n"));
    let pod = |image: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - name: a\n    image: {image}\n    \
             resources: {{limits: {{nvidia.com/gpu: 1}}}}\n"
        )
    };
    repository.file("pod.yaml", &pod(&format!("{there}/bait:1")));
    let run = |arguments: &[&str], more: &[&str]| {
        let mut command = repository.command(arguments);
        command.args(["--username", "ann", "--password-stdin"]).args(more);
        command.write_stdin("s3cret\n").output().expect("a run")
    };
    for arguments in [
        &["check", "--pull", "--no-cache", "Dockerfile"][..],
        &["describe", "--pull", "--no-cache", "Dockerfile"],
        &["needs", "--pull", "--no-cache", "Dockerfile"],
        &["lock", "--no-cache", "Dockerfile"],
        &["compare", "--pull", "--no-cache", "Dockerfile", "both/Dockerfile"],
        &["scan", "--no-cache", "--from-file", "list.txt"],
        &["scan", "--no-cache", "--from-kubernetes", "pod.yaml"],
    ] {
        // A password without a registry is used for none, and the error comes before any request.
        let before = theirs.seen().len();
        let done = run(arguments, &[]);
        assert_eq!(code(&done), 2, "{arguments:?}");
        assert!(err(&done).contains("requires --registry HOST"), "{arguments:?}: {}", err(&done));
        assert_eq!(theirs.seen().len(), before, "{arguments:?}");
        // Where it is said, another registry is asked without it.
        let done = run(arguments, &["--registry", &here]);
        assert!(!err(&done).contains("requires --registry"), "{arguments:?}: {}", err(&done));
    }
    assert!(!theirs.seen().is_empty(), "the stranger's registry was asked");
    // An image on the command line names the registry of the password; images in a file do not change it.
    let beside = format!("{here}/app:1");
    run(&["scan", "--no-cache", &beside, "--from-file", "list.txt"], &[]);
    run(&["check", "--pull", "--no-cache", "Dockerfile", "--built", &beside], &[]);
    run(&["check", "--pull", "--no-cache", "both"], &["--registry", &here]);
    let shown = |registry: &ScriptedServer| -> BTreeSet<String> {
        registry.seen().into_iter().filter_map(|request| request.authorization).collect()
    };
    assert_eq!(shown(&own), BTreeSet::from(["Basic YW5uOnMzY3JldA==".to_owned()]));
    assert_eq!(shown(&theirs), BTreeSet::new());
    // A registry is a host.
    for odd in ["https://registry.example.com", "registry.example.com/team", "", "a b", "user@host"] {
        let done = run(&["check", "--pull", "Dockerfile"], &["--registry", odd]);
        assert_eq!(code(&done), 2, "{odd}");
    }
    assert_eq!(code(&repository.run(&["scan", "--registry", &here, &beside])), 2);
}

/// A registry with one image without layers.
fn fake() -> ScriptedServer {
    let config = br#"{"os":"linux","architecture":"amd64"}"#;
    let digest = oci_layout::sha256(config);
    ScriptedServer::start(move |_, request| {
        let manifest = json!({"config": {"digest": digest, "size": config.len()}, "layers": []}).to_string();
        let body = if request.line.contains("/blobs/") { config.to_vec() } else { manifest.into_bytes() };
        Reply::Whole("200 OK", vec![], body)
    })
}

#[test]
fn mirrors_are_tried_before_the_registry_and_blocked_hosts_never() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("registries.conf");
    let with = |text: &str, name: &str| {
        fs::write(&path, text).expect("registries.conf");
        let mut options = options();
        options.environment.registries_conf = Some(path.clone());
        pull(name, options)
    };
    let (mirror, own) = (fake(), fake());
    let conf = |first: &str| {
        format!("[[registry]]\nlocation = \"{}\"\n[[registry.mirror]]\nlocation = \"{first}/copy\"\n", own.host())
    };
    let name = format!("{}/a/b:c", own.host());
    assert_eq!(with(&conf(&mirror.host()), &name).expect("the mirror")[0].reference, name);
    assert!(mirror.seen().iter().all(|request| request.line.contains("/v2/copy/a/b/")));
    assert_eq!((mirror.seen().len(), own.seen().len()), (2, 0));

    let broken = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", vec![], vec![]));
    assert!(with(&conf(&broken.host()), &name).is_ok());
    assert_eq!(own.seen().len(), 2);

    let gone = ScriptedServer::start(|_, _| Reply::Whole("404 Not Found", vec![], b"gone".to_vec()));
    let both = format!(
        "[[registry]]\nlocation = \"{}\"\n[[registry.mirror]]\nlocation = \"{}\"\n",
        gone.host(),
        broken.host()
    );
    let error = with(&both, &format!("{}/a/b:c", gone.host())).expect_err("both fail").to_string();
    assert!(
        error.contains("gone") && error.contains("its mirrors failed") && error.contains(&broken.host()),
        "{error}"
    );

    let blocked = format!("[[registry]]\nprefix = \"{}/a\"\nblocked = true\n", own.host());
    let error = with(&blocked, &name).expect_err("blocked");
    assert!(matches!(*error.problem, PullProblem::Blocked), "{error}");
    assert_eq!(own.seen().len(), 2);
    let error = with("[[registry]\n", &name).expect_err("no TOML").to_string();
    assert!(error.contains("registries.conf"), "{error}");
}

/// 0.0.0.0 leads to this machine, but is not one of its names.
#[test]
fn plain_http_beyond_localhost_requires_the_flag() {
    let server = fake();
    let host = format!("0.0.0.0:{}", server.port);
    let name = format!("{host}/a/b:c");
    let with = |asked: &[&str]| {
        let mut options = options();
        options.access.plain_http = asked.iter().map(ToString::to_string).collect();
        pull(&name, options)
    };
    for asked in [&[][..], &["0.0.0.0"], &["example.com", "0.0.0.0:1"]] {
        let error = with(asked).expect_err("plain HTTP without being asked for");
        assert!(matches!(*error.problem, PullProblem::Transport { .. }), "{error}");
        assert!(error.to_string().contains("set --plain-http HOST"), "{error}");
        assert!(server.seen().is_empty());
    }
    assert_eq!(with(&[&host]).expect("asked for").len(), 1);
    let repository = TestRepository::new();
    assert_eq!(code(&repository.run(&["scan", &name])), 2);
    let done = repository.run(&["scan", "--plain-http", &host, &name]);
    assert_ne!(code(&done), 2, "{}", err(&done));
}

/// A server of TLS that ends every other connection at once; ended with the test.
fn start_tls_only_server(folder: &Path) -> (u16, std::sync::Arc<std::sync::atomic::AtomicUsize>, Ended) {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::Ordering;

    let behind = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let port = behind.to_string();
    let arguments = ["s_server", "-quiet", "-WWW", "-accept", &port, "-cert", "one.pem", "-key", "one.key"];
    let child = Command::new("openssl").args(arguments).current_dir(folder).spawn().expect("openssl");
    let ended = Ended(child);
    let ready = || TcpStream::connect(("127.0.0.1", behind)).is_ok();
    assert!(
        (0..200).any(|_| ready() || {
            std::thread::sleep(Duration::from_millis(20));
            false
        }),
        "openssl answers"
    );
    let front = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = front.local_addr().expect("an address").port();
    let plain = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = plain.clone();
    std::thread::spawn(move || {
        for mut stream in front.incoming().flatten() {
            let mut first = [0];
            if stream.peek(&mut first).is_err() || first[0] != 0x16 {
                counted.fetch_add(1, Ordering::SeqCst);
                continue;
            }
            let Ok(mut there) = TcpStream::connect(("127.0.0.1", behind)) else { continue };
            let (mut back, mut out) = (there.try_clone().expect("a stream"), stream.try_clone().expect("a stream"));
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut back, &mut out);
                let _ = out.shutdown(std::net::Shutdown::Both);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut stream.by_ref(), &mut there);
            });
        }
    });
    (port, plain, ended)
}

struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_host_that_refuses_plain_http_gets_one_plain_request() {
    use std::sync::atomic::Ordering;

    let folder = tempfile::tempdir().expect("temporary folder");
    certificates(folder.path());
    let (port, plain, _server) = start_tls_only_server(folder.path());
    let name = format!("127.0.0.1:{port}/a/b:c");
    let mut options = options();
    options.limits.back_off = Duration::from_secs(30);
    let error = pull(&name, options.clone()).expect_err("an unknown authority").to_string();
    assert!(error.ends_with("with --cacert or SSL_CERT_FILE"), "{error}");
    assert_eq!(plain.load(Ordering::SeqCst), 1);
    options.access.plain_http = vec![format!("127.0.0.1:{port}")];
    let path = folder.path().join("ca.pem");
    let root = CertificateFile { path: path.display().to_string(), pem: fs::read(&path).expect("a file") };
    options.access.roots = vec![root];
    let puller = Puller::new(options).expect("a puller");
    for _ in 0..3 {
        let error = puller.open(&ImageSource::parse(&name).expect("a name"), &[]).err().expect("no registry");
        assert!(!matches!(*error.problem, PullProblem::Cut { .. } | PullProblem::Transport { .. }), "{error}");
    }
    assert!(plain.load(Ordering::SeqCst) <= 4, "{plain:?}");
}
