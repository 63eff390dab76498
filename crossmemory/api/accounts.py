"""Connected accounts: which outside accounts are this person's, and the codes that connect them."""

from typing import Literal, NoReturn

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from crossmemory import db, intake, linking
from crossmemory.api import inputs, shapes
from crossmemory.api.base import ApiView
from crossmemory.api.errors import TooManyCodes
from crossmemory.api.places import Places, find
from crossmemory.exceptions import Invalid, NotFound
from crossmemory.models import Owner, Sharing, SurfaceLink
from crossmemory.surfaces import surfaces

History = Literal["keep", "remove"]
HISTORY: tuple[History, ...] = ("keep", "remove")


class CodeRate(SimpleRateThrottle):
    """How many codes one person may make; counted in the site's cache."""

    scope = "crossmemory_codes"
    rate = "20/hour"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if request.method != "POST":
            return None
        person = Owner.of(request.user, None)  # type: ignore[arg-type]
        return f"crossmemory:codes:{person.tenant}:{person.user_id}"


class AccountList(ApiView):
    """The person's connected accounts, and the surfaces there are."""

    def get(self, request: Request) -> Response:
        known = Places()
        places = [known[alias] for alias in surfaces]
        return Response(
            {
                "accounts": [shapes.account(link, known) for link in linking.accounts(request.user)],
                "surfaces": [
                    {"alias": place.alias, "label": place.label, "connectable": place.connectable} for place in places
                ],
            }
        )


class AccountView(ApiView):
    def link(self, uid: str) -> SurfaceLink:
        """This person's account, connected or waiting to be. Raises NotFound."""
        links = SurfaceLink.objects.using(db.write_alias(SurfaceLink)).of(self.person)
        found = links.exclude(status=SurfaceLink.Status.ENDED).filter(uid=inputs.public_id(uid)).first()
        if found is None:
            raise NotFound
        return found


class AccountDetail(AccountView):
    """One connected account."""

    def get(self, request: Request, uid: str) -> Response:
        return Response(shapes.account(self.link(uid), Places()))

    def patch(self, request: Request, uid: str) -> Response:
        """Change what it exchanges with the person's memory (`sharing`), or whether the assistant may be given
        permission there (`approvals`)."""
        link, values = self.link(uid), self.values
        if "sharing" in values or "approvals" not in values:
            linking.set_sharing(request.user, link.uid, inputs.choice(values, "sharing", Sharing.values))
        if "approvals" in values:
            linking.set_approvals(request.user, link.uid, inputs.flag(values, "approvals"))
        return Response(shapes.account(self.link(uid), Places()))

    def delete(self, request: Request, uid: str) -> Response:
        """Disconnect it, or refuse one that waits; `?history=remove` deletes what was said there."""
        link = self.link(uid)
        history = inputs.choice(request.query_params, "history", HISTORY, "keep")
        if link.status == SurfaceLink.Status.PENDING:
            linking.refuse(request.user, link.uid)
        else:
            intake.unlink(request.user, link.uid, history=history)
        return Response(status=204)


class AccountConfirm(AccountView):
    """The person says that the account which used the code is theirs."""

    def post(self, request: Request, uid: str) -> Response:
        link = self.link(uid)
        linking.confirm(request.user, link.uid)
        return Response(shapes.account(self.link(uid), Places()))


class AccountCode(ApiView):
    """One-time codes that connect an account."""

    throttle_classes = [CodeRate, *ApiView.throttle_classes]

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        raise TooManyCodes(wait=wait)

    def post(self, request: Request) -> Response:
        """A code for `surface`; `sharing` is what the account will exchange with the person's memory."""
        values = self.values
        alias = inputs.choice(values, "surface", list(surfaces))
        sharing = inputs.choice(values, "sharing", Sharing.values, Sharing.BOTH.value)
        if not find(alias).connectable:
            raise Invalid(_("No account can be connected on this surface."))
        plain, code = linking.create_code(request.user, alias, sharing)
        return Response(shapes.code(plain, code, surfaces[alias].link_url(plain)), status=201)
