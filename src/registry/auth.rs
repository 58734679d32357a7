//! Authentication: from a challenge to the value of the `Authorization` header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::HeaderValue;
use serde::Deserialize;

use crate::registry::auth_challenge::AuthChallenge;
use crate::registry::error_body::error_message;
use crate::registry::http_client::{HttpClient, HttpRequest, RetryPolicy, host_and_port};
use crate::registry::pull_error::{PullProblem, one_line};
use crate::registry::registry_credentials::{CredentialLookup, RegistryCredentials};

/// Maximum size in bytes of the response of a token service.
const MAX_TOKEN_RESPONSE: u64 = 1 << 20;

/// The response of a token service.
#[derive(Deserialize)]
struct TokenResponse {
    token: Option<String>,
    access_token: Option<String>,
}

/// Returns the `Authorization` header for a challenge; `None` if it needs credentials and there are none.
pub(crate) async fn answer_challenge(
    http: &HttpClient,
    challenge: &AuthChallenge,
    repository: &str,
    lookup: &CredentialLookup,
) -> Result<Option<HeaderValue>, PullProblem> {
    match (challenge, &lookup.credentials) {
        (AuthChallenge::Basic, Some(RegistryCredentials::Basic { user, password })) => {
            Ok(Some(basic_authorization(user, password)?))
        }
        (AuthChallenge::Basic, _) => Ok(None),
        (AuthChallenge::Bearer { realm, service, scope }, credentials) => {
            let realm = Url::parse(realm).map_err(|_| PullProblem::Challenge {
                error: format!("the token service `{}` is not a valid address", one_line(realm, 200)),
            })?;
            let pull = format!("repository:{repository}:pull");
            let scope = scope.as_deref().unwrap_or(&pull);
            let request = token_request(realm, service.as_deref(), scope, credentials.as_ref())?;
            let token = fetch_token(http, &request, lookup).await?;
            Ok(Some(sensitive_header(&format!("Bearer {token}"))?))
        }
    }
}

/// Builds the request for a token: with an identity token a POST of a form, otherwise a GET.
fn token_request(
    realm: Url,
    service: Option<&str>,
    scope: &str,
    credentials: Option<&RegistryCredentials>,
) -> Result<HttpRequest, PullProblem> {
    let patience = RetryPolicy::Full;
    let mut request = HttpRequest {
        url: realm,
        accept: "application/json",
        authorization: None,
        form: None,
        cap: MAX_TOKEN_RESPONSE,
        from: 0,
        retry_policy: patience,
    };
    let service = service.map(|service| ("service", service));
    match credentials {
        Some(RegistryCredentials::IdentityToken(token)) => {
            // The query of a scratch address is a form, encoded.
            let mut scratch = request.url.clone();
            scratch
                .query_pairs_mut()
                .clear()
                .append_pair("grant_type", "refresh_token")
                .append_pair("client_id", "imagelint")
                .append_pair("refresh_token", token)
                .append_pair("scope", scope)
                .extend_pairs(service);
            request.form = scratch.query().map(ToOwned::to_owned);
        }
        other => {
            request.url.query_pairs_mut().extend_pairs(service).append_pair("scope", scope);
            if let Some(RegistryCredentials::Basic { user, password }) = other {
                request.authorization = Some(basic_authorization(user, password)?);
            }
        }
    }
    Ok(request)
}

/// Requests a token from the token service.
async fn fetch_token(
    http: &HttpClient,
    request: &HttpRequest,
    lookup: &CredentialLookup,
) -> Result<String, PullProblem> {
    let answer = http.send(request).await?;
    if let Some(page) = answer.html_problem() {
        return Err(page);
    }
    let status = answer.status.as_u16();
    let by = format!("the token service {}", host_and_port(&request.url));
    let message = error_message(&answer.body);
    match status {
        200 => {}
        400 | 401 | 403 => {
            return Err(PullProblem::Unauthorized { by, status, message, credentials: lookup.summary.clone() });
        }
        _ => {
            let message = format!("{by}: {message}");
            return Err(PullProblem::Status { status, message, tries: answer.tries });
        }
    }
    let broken = || PullProblem::Challenge { error: format!("{by} returned no token") };
    let token: TokenResponse = serde_json::from_slice(&answer.body).map_err(|_| broken())?;
    let given = [token.token, token.access_token].into_iter().flatten();
    given.into_iter().find(|token| !token.is_empty()).ok_or_else(broken)
}

/// Returns the header value of HTTP basic authentication.
fn basic_authorization(user: &str, password: &str) -> Result<HeaderValue, PullProblem> {
    sensitive_header(&format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
}

/// Returns a header value that is marked as sensitive, so that logs do not show it.
fn sensitive_header(text: &str) -> Result<HeaderValue, PullProblem> {
    let mut value = HeaderValue::from_str(text).map_err(|_| PullProblem::Challenge {
        error: "the token contains characters that are not allowed in a header".into(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}
