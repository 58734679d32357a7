//! The entry point: opens images of a source and their layers, for synchronous callers.
//!
//! One request to each endpoint chooses between plain HTTP and HTTPS before any retry. A layer is a blocking reader
//! that resumes after interruptions and never exceeds the size of the layer.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::io::Read;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_RANGE;
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::model::reference::ImageReference;
use crate::registry::cached_registry::CachedRegistry;
use crate::registry::container_engine::EngineImage;
use crate::registry::docker_archive::DockerArchive;
use crate::registry::endpoint::RegistryEndpoint;
use crate::registry::engine_inspection::EngineInspection;
use crate::registry::http_client::{RetryPolicy, connection_problem};
use crate::registry::image::{Layer, PulledImage};
use crate::registry::image_archive::{ArchiveOrigin, ImageArchive};
use crate::registry::image_layout::ImageLayout;
use crate::registry::image_name::full_name;
use crate::registry::image_resolution::{ImageStore, resolve_images};
use crate::registry::image_source::{ArchiveFormat, ImageSource};
use crate::registry::platform::Platform;
use crate::registry::pull_error::{PullError, PullProblem, one_line};
use crate::registry::pull_options::{PullLimits, PullOptions};
use crate::registry::registries_conf::RegistriesConf;
use crate::registry::registry_client::RegistryClient;
use crate::registry::registry_session::RegistrySession;
use crate::registry::sbom::ImageSbom;
use crate::registry::{image_name, sbom};

/// The runtime thread on which network requests run while callers block.
pub(crate) struct NetworkRuntime(Option<Runtime>);

impl NetworkRuntime {
    /// Starts the runtime.
    fn new() -> Result<Self, PullProblem> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("registry").enable_all().build();
        runtime.map(|runtime| Self(Some(runtime))).map_err(|error| PullProblem::Setup { error: error.to_string() })
    }

    /// Blocks until a network operation has finished.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T, PullProblem>>) -> Result<T, PullProblem> {
        match &self.0 {
            Some(runtime) => runtime.block_on(work),
            None => Err(PullProblem::Setup { error: "the network is shut down".into() }),
        }
    }
}

impl Drop for NetworkRuntime {
    fn drop(&mut self) {
        // A name that is still being looked up is not waited for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Opens images and their layers. One puller serves all images of a run, so that connections and logins are shared.
pub struct Puller {
    background: Arc<NetworkRuntime>,
    pub(crate) options: PullOptions,
    registries: RegistriesConf,
    sessions: Mutex<BTreeMap<RegistryEndpoint, Arc<RegistrySession>>>,
    /// The protocols that hosts have responded to.
    known_protocols: KnownProtocols,
}

/// The images of one source, and access to their layers.
pub struct OpenedImages {
    /// One image for each requested platform that exists; all images if no platform was requested.
    pub images: Vec<PulledImage>,
    /// The store of their layers.
    pub blobs: LayerBlobs,
}

/// Access to the layers of images. Cheap to clone, and usable from several threads at once.
#[derive(Clone)]
pub struct LayerBlobs {
    background: Arc<NetworkRuntime>,
    store: Arc<ImageStore>,
    options: Arc<PullOptions>,
}

impl Puller {
    /// Creates a puller; reads `registries.conf`.
    pub fn new(options: PullOptions) -> Result<Self, PullError> {
        let fail = |problem| PullError::new("", "the settings", "", problem);
        let background = NetworkRuntime::new().map_err(fail)?;
        let registries = RegistriesConf::load(&options.environment).map_err(fail)?;
        Ok(Self {
            background: Arc::new(background),
            options,
            registries,
            sessions: Mutex::default(),
            known_protocols: KnownProtocols::default(),
        })
    }

    /// Reads the config of an image for each requested platform that exists; for all platforms if none is requested.
    ///
    /// Blocks, so it must not be called on a thread of another async runtime.
    pub fn open(&self, source: &ImageSource, requested: &[Platform]) -> Result<OpenedImages, PullError> {
        self.open_images(source, requested, true)
    }

    /// Like `open`, but without layers if a container engine has the image: only its description is requested, not
    /// the whole archive.
    pub fn open_config(&self, source: &ImageSource, requested: &[Platform]) -> Result<OpenedImages, PullError> {
        self.open_images(source, requested, false)
    }

    /// Opens the images of a source, with or without their layers.
    fn open_images(
        &self,
        source: &ImageSource,
        requested: &[Platform],
        layers: bool,
    ) -> Result<OpenedImages, PullError> {
        let (store, images) = match source {
            ImageSource::Registry(reference) => self.open_registry_image(reference, requested)?,
            ImageSource::Layout { path, name } => {
                let (layout, root) = ImageLayout::open_folder(path, name.as_deref(), &self.options)?;
                let store = ImageStore::Layout(layout);
                let images = poll_to_completion(resolve_images(&store, root, requested))?;
                (store, images)
            }
            ImageSource::Flat { path } => {
                let (layout, root) = ImageLayout::open_flat_folder(path, &self.options)?;
                let store = ImageStore::Layout(layout);
                let images = poll_to_completion(resolve_images(&store, root, requested))?;
                (store, images)
            }
            ImageSource::Archive { path, name, form } => {
                let fail =
                    |problem| PullError::new(&path.display().to_string(), &archive_reference(path, *form), "", problem);
                let archive = ImageArchive::open(ArchiveOrigin::File(path.clone())).map_err(fail)?;
                let saved = archive.contains("manifest.json");
                let layout = archive.contains("index.json");
                if saved && (*form != ArchiveFormat::Oci || !layout) {
                    self.open_docker_archive(archive, &archive_reference(path, *form), name.as_deref(), requested)?
                } else if layout {
                    let (layout, root) = ImageLayout::open_archive(Arc::new(archive), name.as_deref(), &self.options)?;
                    let store = ImageStore::Layout(layout);
                    let images = poll_to_completion(resolve_images(&store, root, requested))?;
                    (store, images)
                } else {
                    return Err(fail(PullProblem::NoImage {
                        error: "it contains neither manifest.json nor index.json",
                    }));
                }
            }
            ImageSource::Engine { kind, image } => {
                let reference = format!("{}:{}", kind.scheme(), one_line(image, 300));
                let fail = |problem| PullError::new(kind.scheme(), &reference, "the image", problem);
                let limits = &self.options.limits;
                let engine = EngineImage::new(*kind, image, &self.options.environment, limits).map_err(fail)?;
                let inspection =
                    if layers { None } else { EngineInspection::open(&engine, &reference, requested, limits)? };
                if let Some((inspected, image)) = inspection {
                    (ImageStore::Inspected(inspected), vec![image])
                } else {
                    let archive = ImageArchive::open(ArchiveOrigin::Engine(engine)).map_err(fail)?;
                    self.open_docker_archive(archive, &reference, None, requested)?
                }
            }
        };
        let blobs = LayerBlobs {
            background: self.background.clone(),
            store: Arc::new(store),
            options: Arc::new(self.options.clone()),
        };
        Ok(OpenedImages { images, blobs })
    }

    /// Returns every tag of a reference's repository, from the first endpoint that lists them.
    pub fn tags(&self, image: &ImageReference) -> Result<Vec<String>, PullError> {
        let fail = |problem| PullError::new(image_name::registry_host(image), &full_name(image), "the tags", problem);
        let places = self.registries.endpoints(image, &self.options).map_err(fail)?;
        let work = async {
            let mut first = None;
            for ways in places {
                match self
                    .known_protocols
                    .try_endpoints(self, image, &ways, async |client, patience| client.all_tags(patience).await)
                    .await
                {
                    Ok((_, tags)) => return Ok(Ok(tags)),
                    Err(error) => first = first.or(Some(error)),
                }
            }
            Ok(Err(first.unwrap_or_else(|| fail(PullProblem::Blocked))))
        };
        self.background.block_on(work).map_err(fail)?
    }

    /// Opens an image of a `docker save` archive.
    fn open_docker_archive(
        &self,
        archive: ImageArchive,
        reference: &str,
        name: Option<&str>,
        requested: &[Platform],
    ) -> Result<(ImageStore, Vec<PulledImage>), PullError> {
        let (saved, image) = DockerArchive::open(archive, reference, name, requested, &self.options.limits)?;
        Ok((ImageStore::Saved(saved), vec![image]))
    }

    /// Opens an image in a registry: tries the mirrors first and the registry itself last.
    fn open_registry_image(
        &self,
        image: &ImageReference,
        requested: &[Platform],
    ) -> Result<(ImageStore, Vec<PulledImage>), PullError> {
        let fail = |problem| PullError::new(image_name::registry_host(image), &full_name(image), "", problem);
        let places = self.registries.endpoints(image, &self.options).map_err(fail)?;
        let work = async {
            let mut tried = Vec::new();
            let mut last = None;
            for ways in places {
                match self
                    .known_protocols
                    .try_endpoints(self, image, &ways, async |client, patience| client.root_document(patience).await)
                    .await
                {
                    Ok((client, root)) => {
                        let kept =
                            CachedRegistry { client: Arc::new(client), cache: self.options.manifest_cache.clone() };
                        let store = ImageStore::Registry(kept);
                        let images = resolve_images(&store, root, requested).await;
                        return Ok(images.map(|images| (store, images)));
                    }
                    Err(error) => tried.extend(last.replace(error)),
                }
            }
            Ok(Err(last.map_or_else(|| fail(PullProblem::Blocked), |error| error.with_mirror_errors(&tried))))
        };
        self.background.block_on(work).map_err(fail)?
    }

    /// Returns the session with an endpoint, which all images share.
    pub(crate) fn session_for(
        &self,
        image: &ImageReference,
        way: &RegistryEndpoint,
    ) -> Result<Arc<RegistrySession>, PullError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(way) {
            return Ok(session.clone());
        }
        let session = RegistrySession::new(way, &self.options)
            .map_err(|problem| PullError::new(&way.host, &full_name(image), "", problem))?;
        let session = Arc::new(session);
        sessions.insert(way.clone(), session.clone());
        Ok(session)
    }
}

impl LayerBlobs {
    /// Opens a layer as it is stored: compressed as its media type or, in an archive, its first bytes indicate.
    ///
    /// No request is sent before the first read; a read that fails carries a `PullError`. The bytes are never more than
    /// the size of the layer; the reader must check their digest. Must not be called on a thread of an async runtime.
    pub fn layer_reader(&self, layer: &Layer) -> Result<Box<dyn Read + Send>, PullError> {
        match &*self.store {
            ImageStore::Registry(kept) => {
                let (background, limits) = (self.background.clone(), &self.options.limits);
                Ok(Box::new(LayerReader::new(background, kept.client.clone(), layer, limits)))
            }
            ImageStore::Layout(layout) => layout.layer_reader(layer),
            ImageStore::Saved(saved) => saved.layer_reader(layer),
            ImageStore::Inspected(inspected) => {
                let problem = PullProblem::NotFound {
                    message: "the engine provides image data only, not layers".into(),
                    nearest: Vec::new(),
                };
                Err(inspected.pull_error(&format!("layer {}", layer.digest), problem))
            }
        }
    }

    /// Reads the SBOM of an image; `None` if it has none. Makes a few requests and downloads the SBOM.
    pub fn sbom(&self, image: &PulledImage) -> Result<Option<ImageSbom>, PullError> {
        let request = format!("the list of packages of {}", image.manifest_digest);
        let fail = |problem| self.store.pull_error(&request, problem);
        let search = sbom::find_sbom(&self.store, image);
        let found = match &*self.store {
            ImageStore::Registry(_) => self.background.block_on(search),
            ImageStore::Layout(_) | ImageStore::Saved(_) | ImageStore::Inspected(_) => poll_to_completion(search),
        };
        let Some(layer) = found.map_err(fail)? else { return Ok(None) };
        sbom::check_size(&layer).map_err(fail)?;
        sbom::read_sbom(&layer, self.layer_reader(&layer)?).map(Some).map_err(fail)
    }

    /// Returns a layer's offset in a source that is read sequentially: in this order all layers cost one pass,
    /// otherwise one each. `None` if the order does not matter.
    pub fn layer_offset(&self, layer: &Layer) -> Option<u64> {
        match &*self.store {
            ImageStore::Registry(_) | ImageStore::Inspected(_) => None,
            ImageStore::Layout(layout) => layout.layer_offset(layer),
            ImageStore::Saved(saved) => saved.layer_offset(layer),
        }
    }

    /// Returns the registry's host and port, or the path of the file or directory.
    pub fn host(&self) -> String {
        self.store.host()
    }
}

/// Returns an archive as a user writes it, such as `oci-archive:FILE`.
fn archive_reference(path: &Path, form: ArchiveFormat) -> String {
    let scheme = match form {
        ArchiveFormat::Oci => "oci-archive:",
        ArchiveFormat::Docker => "docker-archive:",
        ArchiveFormat::Either => "",
    };
    format!("{scheme}{}", path.display())
}

/// Polls a future that never waits until it is complete: files are read synchronously.
fn poll_to_completion<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = work.as_mut().poll(&mut context) {
            return value;
        }
        std::hint::spin_loop();
    }
}

/// The protocol that each host has responded to: whether plain HTTP, by host and port.
#[derive(Debug, Default)]
pub(crate) struct KnownProtocols(Mutex<BTreeMap<String, bool>>);

impl KnownProtocols {
    /// Sends a request to the endpoints of one location until one responds; an endpoint whose connection ends early
    /// is retried after the others.
    pub(crate) async fn try_endpoints<T>(
        &self,
        puller: &Puller,
        image: &ImageReference,
        ways: &[RegistryEndpoint],
        request: impl AsyncFn(&RegistryClient, RetryPolicy) -> Result<T, PullError>,
    ) -> Result<(RegistryClient, T), PullError> {
        let mut ways: Vec<&RegistryEndpoint> = ways.iter().collect();
        if ways.iter().any(|way| self.has_responded(way)) {
            ways.retain(|way| self.has_responded(way));
        }
        let first = if ways.len() > 1 { RetryPolicy::Once } else { RetryPolicy::Full };
        let (mut primary_error, mut ended): (Option<PullError>, Vec<&RegistryEndpoint>) = (None, Vec::new());
        for way in ways {
            let client = RegistryClient::new(image, &puller.options.limits, puller.session_for(image, way)?);
            match self.record_response(way, request(&client, first).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    // What was tried more often had answered before.
                    if first == RetryPolicy::Once && matches!(*error.problem, PullProblem::Cut { tries: 1, .. }) {
                        ended.push(way);
                    }
                    let weak = primary_error.as_ref().is_none_or(|previous| requires_tls(&previous.problem));
                    primary_error = if weak { Some(error) } else { primary_error };
                }
            }
        }
        for way in ended {
            let client = RegistryClient::new(image, &puller.options.limits, puller.session_for(image, way)?);
            match self.record_response(way, request(&client, RetryPolicy::AfterFirst).await) {
                Ok(found) => return Ok((client, found)),
                Err(error) if is_final(&error.problem) => return Err(error),
                Err(error) => {
                    let weak = primary_error
                        .as_ref()
                        .is_none_or(|previous| !matches!(*previous.problem, PullProblem::Cut { tries: 2.., .. }));
                    primary_error = if weak { Some(error) } else { primary_error };
                }
            }
        }
        let none = || PullError::new(image_name::registry_host(image), &full_name(image), "", PullProblem::Blocked);
        Err(primary_error.unwrap_or_else(none))
    }

    /// Whether a host has responded to the protocol of an endpoint.
    fn has_responded(&self, way: &RegistryEndpoint) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&way.host).is_some_and(|plain| *plain == way.plain_http)
    }

    /// Records the protocol of an endpoint that has responded.
    fn record_response<T>(&self, way: &RegistryEndpoint, outcome: Result<T, PullError>) -> Result<T, PullError> {
        let of_registry =
            |problem: &PullProblem| matches!(problem, PullProblem::NotFound { .. } | PullProblem::Unauthorized { .. });
        if outcome.as_ref().err().is_none_or(|error| of_registry(&error.problem)) {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(way.host.clone(), way.plain_http);
        }
        outcome
    }
}

/// Whether a problem is final, so that another protocol would not help: a registry's response, or an untrusted
/// certificate.
fn is_final(problem: &PullProblem) -> bool {
    match problem {
        PullProblem::Transport { fault, .. } => fault.is_certificate_error(),
        PullProblem::Cut { .. } | PullProblem::Slow { .. } => false,
        other => !requires_tls(other),
    }
}

/// Whether a server responded to plain HTTP that it requires TLS.
fn requires_tls(problem: &PullProblem) -> bool {
    match problem {
        PullProblem::Status { status: 400, message, .. } => message.to_ascii_lowercase().contains("https"),
        PullProblem::Html { status: 400, title } => title.to_ascii_lowercase().contains("https"),
        _ => false,
    }
}

/// Number of bytes over which the speed of a download is measured; each must arrive within the limit `slowest`.
const RATE_WINDOW_BYTES: u64 = 1 << 20;

/// A piece of a layer's bytes.
type LayerChunk = Box<dyn AsRef<[u8]> + Send>;

/// A blocking reader of one layer in a registry. It buffers one HTTP chunk, of at most about 400 KB, and reads the
/// next on demand. Dropping it ends the request.
pub(crate) struct LayerReader {
    background: Arc<NetworkRuntime>,
    stream: LayerStream,
    piece: Option<LayerChunk>,
    used: usize,
}

impl LayerReader {
    /// Creates a reader of a layer; nothing is requested before the first read.
    pub(crate) fn new(
        background: Arc<NetworkRuntime>,
        client: Arc<RegistryClient>,
        layer: &Layer,
        limits: &PullLimits,
    ) -> Self {
        let stream = LayerStream {
            client,
            size: layer.size,
            layer: layer.clone(),
            limits: limits.clone(),
            at: 0,
            skip: 0,
            response: None,
            breaks: 0,
            breaks_in_a_row: 0,
            pace: (0, Duration::ZERO),
        };
        Self { background, stream, piece: None, used: 0 }
    }
}

impl Read for LayerReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest =
                self.piece.as_ref().and_then(|piece| piece.as_ref().as_ref().get(self.used..)).unwrap_or_default();
            if !rest.is_empty() || out.is_empty() {
                let count = rest.len().min(out.len());
                out[..count].copy_from_slice(&rest[..count]);
                self.used += count;
                return Ok(count);
            }
            self.piece = None;
            self.used = 0;
            let next = self.background.block_on(self.stream.next_chunk());
            match next {
                Ok(Some(piece)) => self.piece = Some(piece),
                Ok(None) => return Ok(0),
                Err(problem) => {
                    let request = format!("layer {}", self.stream.layer.digest);
                    return Err(io::Error::other(self.stream.client.pull_error(&request, problem)));
                }
            }
        }
    }
}

/// An asynchronous stream of one layer's bytes.
struct LayerStream {
    client: Arc<RegistryClient>,
    layer: Layer,
    size: u64,
    limits: PullLimits,
    /// The number of bytes received.
    at: u64,
    /// The number of bytes to skip because they were received before.
    skip: u64,
    response: Option<Box<Response>>,
    breaks: u32,
    /// The number of interruptions since the last received byte.
    breaks_in_a_row: u32,
    /// The bytes of the current rate window, and the time spent waiting for them.
    pace: (u64, Duration),
}

impl LayerStream {
    /// Returns the next chunk, resuming after interruptions; `None` at the end.
    async fn next_chunk(&mut self) -> Result<Option<LayerChunk>, PullProblem> {
        loop {
            if self.response.is_none() {
                self.open_response().await?;
            }
            let Some(response) = &mut self.response else { continue };
            let start = Instant::now();
            let outcome = response.chunk().await;
            let waited = start.elapsed();
            match outcome {
                Ok(Some(chunk)) => {
                    let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(chunk.len());
                    self.skip -= skipped as u64;
                    self.at += (chunk.len() - skipped) as u64;
                    if self.at > self.size {
                        return Err(PullProblem::WrongSize { expected: self.size, actual: self.at });
                    }
                    self.check_rate(chunk.len() as u64, waited)?;
                    if skipped < chunk.len() {
                        self.breaks_in_a_row = 0;
                        return Ok(Some(Box::new(chunk.slice(skipped..))));
                    }
                }
                Ok(None) if self.at == self.size && self.skip == 0 => return Ok(None),
                Ok(None) => self.record_break(PullProblem::WrongSize { expected: self.size, actual: self.at }).await?,
                Err(error) => self.record_break(connection_problem(error)).await?,
            }
        }
    }

    /// Returns an error if the transfer rate is below the minimum.
    fn check_rate(&mut self, bytes: u64, waited: Duration) -> Result<(), PullProblem> {
        self.pace.0 += bytes;
        self.pace.1 += waited;
        if self.pace.0 >= RATE_WINDOW_BYTES {
            self.pace = (0, Duration::ZERO);
        } else if self.pace.1 > self.limits.slowest {
            let error =
                format!("{} bytes in {} s, below the minimum transfer rate", self.pace.0, self.pace.1.as_secs());
            return Err(PullProblem::Slow { error });
        }
        Ok(())
    }

    /// Records an interruption: waits before the next attempt, or returns an error after too many.
    async fn record_break(&mut self, problem: PullProblem) -> Result<(), PullProblem> {
        self.response = None;
        self.breaks += 1;
        self.breaks_in_a_row += 1;
        if self.breaks_in_a_row > self.limits.retries || self.breaks > self.limits.resumes {
            return Err(PullProblem::Broken {
                at: self.at,
                size: self.size,
                breaks: self.breaks,
                error: Box::new(problem),
            });
        }
        tokio::time::sleep(self.client.back_off(self.breaks_in_a_row)).await;
        Ok(())
    }

    /// Requests the missing bytes and checks that the response has that range.
    async fn open_response(&mut self) -> Result<(), PullProblem> {
        let response = match self.client.open_layer(&self.layer.digest, self.at).await {
            Ok(response) => response,
            Err(problem @ PullProblem::Cut { .. }) => return self.record_break(problem).await,
            // This counts as a separate attempt: a restarting server may refuse connections.
            Err(problem @ (PullProblem::Transport { .. } | PullProblem::Slow { .. })) if self.breaks > 0 => {
                return self.record_break(problem).await;
            }
            Err(PullProblem::NotFound { .. } | PullProblem::Elsewhere { status: 404, .. })
                if self.layer.is_foreign() =>
            {
                return Err(self.layer.foreign_layer_problem());
            }
            Err(problem) => return Err(problem),
        };
        let length = response.content_length();
        let (from, expected) = if response.status().as_u16() == 206 {
            let range = response.headers().get(CONTENT_RANGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let fits = parse_content_range(range)
                .is_some_and(|(from, total)| from == self.at && total.is_none_or(|total| total == self.size));
            if !fits {
                return Err(PullProblem::Range { offset: self.at, size: self.size, answered: one_line(range, 100) });
            }
            (self.at, self.size - self.at)
        } else {
            // A server that knows no ranges begins anew.
            (0, self.size)
        };
        if let Some(length) = length.filter(|length| *length != expected) {
            return Err(PullProblem::WrongSize { expected: self.size, actual: from.saturating_add(length) });
        }
        self.skip = self.at - from;
        self.response = Some(response);
        Ok(())
    }
}

/// Parses `bytes FIRST-LAST/WHOLE`; returns the first byte and the whole size.
fn parse_content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, whole) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    let whole = if whole == "*" { None } else { Some(whole.parse().ok()?) };
    Some((first.trim().parse().ok()?, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_parsed_and_invalid_ones_are_none() {
        assert_eq!(parse_content_range("bytes 5-9/10"), Some((5, Some(10))));
        assert_eq!(parse_content_range("bytes 5-9/*"), Some((5, None)));
        for odd in ["", "bytes */10", "bytes 5/10", "items 5-9/10", "bytes 5-9/x", "bytes -9/10"] {
            assert_eq!(parse_content_range(odd), None, "{odd}");
        }
    }
}
