//! The server: routes, and what each of them reads or does. It has a thread of its own; pages are rendered on
//! other threads.

mod acts;
pub mod desk;
mod guard;
mod listener;
mod stream;
pub mod tls;

pub use guard::Access;

use crate::Person;
use crate::follow::Followers;
use crate::page::conversation::Conversation;
use crate::page::message::problem;
use crate::page::project::{self, Summaries};
use crate::page::{run, task};
use crate::report;
use crate::shot::{Medium, Query, Shot, encode};
use acts::{act_on_run, act_on_task, answer_prompt};
use axum::extract::{Extension, Path, Query as Parameters, State};
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};
use desk::Desk;
use guard::page;
use maud::Markup;
use serde_json::{Map, Value};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stream::{Follower, Subject};
use tls::Certificate;
use wavecrew_process::LockAnyway;
use wavecrew_session::{SessionDir, SessionError};

/// A browser that reads nothing for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(20);

const STYLE: &str = include_str!("../../assets/style.css");
const SCRIPT: &str = include_str!("../../assets/script.js");
const ICON: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1f5fbf"/><path d="M2 10c2-4 4-4 6 0s4 4 6 0" fill="none" stroke="#fff" stroke-width="2"/></svg>"##;

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("port {port} of {address} is in use by another program")]
    PortTaken { address: std::net::IpAddr, port: u16 },
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot start the server: {0}")]
    Start(#[from] io::Error),
}

/// What a server shows, and who performs the actions of the browser.
pub struct Server {
    pub project: PathBuf,
    pub person: Arc<dyn Person>,
    pub desk: Arc<Desk>,
    pub access: Access,
    /// Without a certificate, the connection has no TLS.
    pub certificate: Option<Certificate>,
}

struct App {
    followers: Followers,
    summaries: Summaries,
    person: Arc<dyn Person>,
    desk: Arc<Desk>,
    access: Access,
    address: SocketAddr,
    certificate: Option<Certificate>,
    /// The port is part of the name, because all ports of a host share their cookies.
    cookie: String,
}

impl App {
    fn scheme(&self) -> &'static str {
        if self.certificate.is_some() {
            "https"
        } else {
            "http"
        }
    }
}

/// A server that listens on its port but does not respond yet.
pub struct Bound {
    listener: TcpListener,
    app: Arc<App>,
}

impl Server {
    /// Opens the port; 0 is any free one.
    pub fn bind(self, address: SocketAddr) -> Result<Bound, ServerError> {
        let listener = TcpListener::bind(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServerError::PortTaken {
                address: address.ip(),
                port: address.port(),
            },
            _ => ServerError::Listen { address, source },
        })?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let Self {
            project,
            person,
            desk,
            access,
            certificate,
        } = self;
        let app = App {
            followers: Followers::of(project),
            summaries: Summaries::default(),
            person,
            desk,
            access,
            address,
            certificate,
            cookie: format!("wavecrew-{}", address.port()),
        };
        Ok(Bound {
            listener,
            app: Arc::new(app),
        })
    }
}

impl Bound {
    pub fn address(&self) -> SocketAddr {
        self.app.address
    }

    /// The link to a page, with the secret of full access.
    pub fn link(&self, path: &str) -> String {
        self.link_with(path, &self.app.access.full)
    }

    /// The read-only link.
    pub fn read_only_link(&self, path: &str) -> String {
        self.link_with(path, &self.app.access.view)
    }

    fn link_with(&self, path: &str, token: &str) -> String {
        format!(
            "{}://{}{path}?token={token}",
            self.app.scheme(),
            listener::reachable(self.app.address)
        )
    }

    /// Serves requests until the program ends.
    pub fn serve(self) -> Result<(), ServerError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let Self { listener, app } = self;
        runtime.block_on(async {
            let listener = listener::Impatient {
                listener: tokio::net::TcpListener::from_std(listener)?,
                patience: PATIENCE,
                tls: app.certificate.as_ref().map(Certificate::acceptor),
            };
            axum::serve(listener, routes(app)).await
        })?;
        Ok(())
    }
}

fn routes(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(project_page))
        .route("/stream", get(project_stream))
        .route("/current", get(current_run))
        .route("/answer/{prompt}", post(answer_prompt))
        .route("/s/{id}", get(run_page))
        .route("/s/{id}/stream", get(run_stream))
        .route("/s/{id}/fragments", get(run_fragments))
        .route("/s/{id}/report.html", get(report_file))
        .route("/s/{id}/t/{task}", get(task_page))
        .route("/s/{id}/t/{task}/stream", get(task_stream))
        .route("/s/{id}/t/{task}/{action}", post(act_on_task))
        .route("/s/{id}/{action}", post(act_on_run))
        .route(
            "/style.css",
            get(|| async { asset("text/css; charset=utf-8", STYLE) }),
        )
        .route(
            "/script.js",
            get(|| async { asset("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route("/icon.svg", get(|| async { asset("image/svg+xml", ICON) }))
        .route("/alive", get(|| async { "alive" }))
        .fallback(|| async {
            let help = "go to the list of sessions";
            page(StatusCode::NOT_FOUND, &problem("There is no such page", "", help))
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text).into_response()
}

/// Renders on another thread. An error becomes a page that explains what to do.
async fn render(page_of: impl FnOnce() -> Result<Markup, SessionError> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(page_of).await {
        Ok(Ok(markup)) => page(StatusCode::OK, &markup),
        Ok(Err(error)) => unreadable(&error),
        Err(_) => {
            let help = "look at it with `wavecrew status` and `wavecrew show`, and report this as a defect";
            let message = "The page could not be created.";
            page(
                StatusCode::INTERNAL_SERVER_ERROR,
                &problem("Something went wrong", message, help),
            )
        }
    }
}

fn unreadable(error: &SessionError) -> Response {
    let status = match error {
        SessionError::NoSuchSession { .. } | SessionError::BadName { .. } => StatusCode::NOT_FOUND,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    page(
        status,
        &problem("The session cannot be shown", &error.to_string(), &error.help()),
    )
}

async fn project_page(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Parameters(query): Parameters<Query>,
) -> Response {
    render(move || {
        let project = app.followers.project();
        let parts = project::parts(&app.summaries, project, &query, &app.desk.open(), medium)?;
        Ok(project::page(project, &query, parts))
    })
    .await
}

async fn project_stream(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Parameters(query): Parameters<Query>,
) -> Response {
    Follower::new(app, Subject::Project, query, medium)
        .stream()
        .into_response()
}

/// The session that the command runs; before it starts, the project page, which then goes to the session by
/// itself.
async fn current_run(State(app): State<Arc<App>>) -> Response {
    let target = match app.desk.session() {
        Some(id) => format!("/s/{}", encode(&id)),
        None => "/?waits=1".to_owned(),
    };
    redirect(&target)
}

async fn run_page(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Path(id): Path<String>,
    Parameters(query): Parameters<Query>,
) -> Response {
    render(move || {
        let followed = app.followers.get(&id)?;
        let followed = followed.lock_anyway();
        Ok(Shot::take(&followed, &query, medium, |shot| {
            run::page(shot, &app.desk.open())
        }))
    })
    .await
}

async fn run_stream(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Path(id): Path<String>,
    Parameters(query): Parameters<Query>,
) -> Response {
    Follower::new(app, Subject::Run(id), query, medium)
        .stream()
        .into_response()
}

/// The parts of a page at an earlier event, for the slider.
async fn run_fragments(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Path(id): Path<String>,
    Parameters(query): Parameters<Query>,
) -> Response {
    let made = tokio::task::spawn_blocking(move || {
        let followed = app.followers.get(&id)?;
        let followed = followed.lock_anyway();
        let parts = Shot::take(&followed, &query, medium, |shot| {
            run::fragments(shot, &app.desk.open())
        });
        // The slider is not replaced, because the reader is dragging it.
        let parts = parts.into_iter().filter(|(id, _)| *id != "slider");
        Ok(parts
            .map(|(id, markup)| (id.to_owned(), Value::String(markup.0)))
            .collect::<Map<_, _>>())
    });
    match made.await {
        Ok(Ok(parts)) => (
            [(CONTENT_TYPE, "application/json")],
            Value::Object(parts).to_string(),
        )
            .into_response(),
        Ok(Err(error)) => unreadable(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn report_file(State(app): State<Arc<App>>, Path(id): Path<String>) -> Response {
    let made = tokio::task::spawn_blocking(move || {
        let dir = SessionDir::open(app.followers.project(), &id)?;
        let mut html = Vec::new();
        report::write_report(dir, &mut html).map_err(|error| match error {
            report::ReportError::Session(error) => error,
            report::ReportError::Write(_) => unreachable!("writing to memory"),
        })?;
        Ok((id, html))
    });
    match made.await {
        Ok(Ok((id, html))) => {
            let name: String = id
                .chars()
                .filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c))
                .collect();
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
                (
                    CONTENT_DISPOSITION,
                    format!("attachment; filename=\"{name}.html\""),
                ),
                // The browser saves the file and does not open it here.
                (CONTENT_SECURITY_POLICY, "sandbox".to_owned()),
            ];
            (headers, html).into_response()
        }
        Ok(Err(error)) => unreadable(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn task_page(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Path((id, name)): Path<(String, String)>,
    Parameters(query): Parameters<Query>,
) -> Response {
    let made = tokio::task::spawn_blocking(move || {
        let followed = app.followers.get(&id)?;
        let followed = followed.lock_anyway();
        Ok(Shot::take(&followed, &query, medium, |shot| {
            let found = shot.ledger.plan().find(&name)?;
            let mut conversation =
                Conversation::of(shot.dir, shot.events, &name, task::shown_attempt(shot, found));
            conversation.catch_up();
            if !shot.is_running() {
                conversation.finish();
            }
            Some(task::page(shot, found, &conversation, &app.desk.open()))
        })
        .ok_or(name))
    });
    match made.await {
        Ok(Ok(Ok(markup))) => page(StatusCode::OK, &markup),
        Ok(Ok(Err(name))) => {
            let message = format!("The plan has no task `{name}`.");
            let help = "it may have been removed by a table edit: look at the plan of the session";
            page(
                StatusCode::NOT_FOUND,
                &problem("There is no such task", &message, help),
            )
        }
        Ok(Err(error)) => unreadable(&error),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn task_stream(
    State(app): State<Arc<App>>,
    Extension(medium): Extension<Medium>,
    Path((id, name)): Path<(String, String)>,
    Parameters(query): Parameters<Query>,
) -> Response {
    Follower::new(app, Subject::Task(id, name), query, medium)
        .stream()
        .into_response()
}

fn redirect(target: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, target.to_owned())]).into_response()
}
