// Every panel of the page. A new one needs a line here.
import "./map";
import "./robot";
import "./behaviour";
import "./log";
import "./scene";
import "./graph";
import "./xy";
import "./values";
import "./image";
import "./polar";
